#include "events/tools/timeline_merge.h"

#include "events/readers/event_reader.h"
#include "events/recorded/events_from_recording.h"
#include "events/tools/event_sorter.h"
#include "events/tools/merged_members.h"
#include "events/tools/overlap_count.h"
#include "events/tools/profiler_flows.h"
#include "events/writers/chrome_writer.h"
#include "events/writers/perfetto_writer.h"
#include "streams/output_stream.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PROGRESS_STEP = 1 << 24 };

typedef struct merging {
    const fd_timeline_request *request;
    fd_timeline_input *inputs; /* borrowed; sorted by rank */
    uint32_t count;
    fd_bytes_out *out;
    fd_buffer *text;            /* text buffer of `out` */
    fd_sorter *sorter;          /* owned; NULL: events keep their own order */
    fd_perfetto_writer *native; /* owned; NULL: the output is Chrome JSON */
    fd_perfetto_spare spare;
    fd_merged_members members;
    uint32_t spare_pid;
    uint32_t spare_tid;
    uint32_t processes; /* number of processes of the previous input */
    fd_profiler_flows profiler_flows;
    bool transfers;       /* a recording has flows of a pipeline */
    fd_overlaps overlaps; /* of the current input, if it is Chrome JSON */
    uint64_t events;
    uint64_t done; /* bytes of inputs read so far */
    uint64_t reported;
    fd_error *error;
} merging;

bool
fd_timeline_is_native(const char *path)
{
    static const char *const ends[] = {".pftrace", ".perfetto-trace"};
    size_t size = strlen(path);
    size -= size > 3 && strcmp(path + size - 3, ".gz") == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]);
        if (size >= length
            && memcmp(path + size - length, ends[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* Move the text from offset `from` on to the sorter. */
static fd_status
put_aside(merging *m, size_t from, int64_t time_ns)
{
    fd_status status = m->text->status;
    if (status == FD_OK && m->text->size > from) {
        status = fd_sorter_add(m->sorter, time_ns, 0, m->text->bytes + from,
                               m->text->size - from, m->error);
        m->text->size = from;
    }
    return status;
}

/* Return the time to sort by. Metadata rows and events without a time come
 * first. */
static int64_t
time_of(const fd_timeline_event *event, const fd_clock_map *clock)
{
    return event->phase == 'M' || !event->has_start
             ? INT64_MIN
             : fd_clock_apply(clock, event->start);
}

static fd_status
write_sorted(merging *m)
{
    fd_sorted item;
    fd_status status;
    bool first = true;
    while ((status = fd_sorter_next(m->sorter, &item, m->error)) == FD_OK
           && item.bytes != NULL) {
        size_t before = m->text->size;
        fd_buffer_bytes(m->text, item.bytes, item.size);
        if (first && m->text->status == FD_OK) {
            m->text->bytes[before] = ' '; /* no comma before the first */
        }
        first = false;
        status = fd_bytes_out_flow(m->out, m->error);
        if (status != FD_OK) {
            break;
        }
    }
    return status;
}

/* Copy an event. If its time is unreadable or there are too many processes,
 * count it as damaged. */
static fd_status
copy_event(merging *m, fd_timeline_input *input, fd_timeline_ids *ids,
           const fd_timeline_event *event)
{
    size_t before = m->text->size;
    fd_status status =
        m->native != NULL
            ? fd_perfetto_writer_event(m->native, event, ids, m->error)
            : fd_chrome_write(event, &input->clock.map, ids, m->text);
    if (status == FD_EFORMAT || status == FD_EFULL) {
        input->lost++;
        input->lost_bytes += event->size;
        if (input->trouble[0] == '\0') {
            snprintf(input->trouble, sizeof input->trouble, "%s",
                     status == FD_EFULL
                         ? "more than 65535 processes or 2^20 threads"
                         : "an event with a ts that is not a number");
        }
        return FD_OK;
    }
    input->events++;
    input->repaired += event->repairs;
    if (m->events == 0 && m->text->size > before && m->sorter == NULL) {
        m->text->bytes[before] = ' '; /* no comma before the first */
    }
    m->events += m->native != NULL || m->text->size > before;
    if (status == FD_OK && m->native == NULL) {
        status = fd_overlaps_add(&m->overlaps, event, ids->last_tid.index);
    }
    if (status == FD_OK && m->sorter != NULL) {
        return put_aside(m, before, time_of(event, &input->clock.map));
    }
    return fd_then(status, fd_bytes_out_flow(m->out, m->error));
}

/* Copy the flow between this call and the same call in another program's
 * trace. */
static fd_status
copy_profiler_flow(merging *m, fd_timeline_input *input, fd_timeline_ids *ids,
                   const fd_timeline_event *event)
{
    fd_timeline_event arrow;
    if (!fd_profiler_flows_find(&m->profiler_flows, event, &arrow)) {
        return FD_OK;
    }
    uint64_t index = ids->input;
    ids->input = m->profiler_flows.input;
    fd_status status = copy_event(m, input, ids, &arrow);
    ids->input = index;
    input->events--;
    input->arrows++;
    return status;
}

static fd_status
report_progress(merging *m, uint64_t read)
{
    const fd_timeline_request *request = m->request;
    if (request->progress == NULL || m->done + read < m->reported) {
        return FD_OK;
    }
    m->reported = m->done + read + PROGRESS_STEP;
    return request->progress(request->context, m->done + read, request->total)
             ? FD_OK
             : fd_fail(m->error, FD_EINVAL, "stopped");
}

static bool
is_kept(const fd_timeline_input *input, uint64_t number)
{
    return input->kept == NULL
        || (number / 8 < input->kept_bytes
            && ((unsigned char)input->kept[number / 8] >> number % 8 & 1)
                   != 0);
}

static fd_status
copy_items(merging *m, fd_timeline_input *input, fd_timeline_reader *reader,
           fd_timeline_ids *ids)
{
    bool any = false;
    uint64_t number = 0;
    fd_status status = FD_OK;
    fd_timeline_item item;
    while (status == FD_OK
           && (item = fd_timeline_reader_next(reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_MEMBER) {
            fd_merged_members_keep(&m->members, input, &any, reader->key,
                                   reader->value, &reader->scan);
        }
        else if (!is_kept(input, number++)) {
            input->filtered++;
        }
        else {
            status = copy_event(m, input, ids, &reader->event);
            fd_then(status, copy_profiler_flow(m, input, ids, &reader->event));
        }
        fd_then(status, report_progress(m, reader->in.read));
    }
    return fd_then(status, reader->status);
}

/* Return the suffix for process names that distinguishes two inputs of one
 * rank. */
static const char *
program_beside(const fd_timeline_input *input)
{
    return !input->beside            ? ""
         : input->program[0] != '\0' ? input->program
                                     : "another program";
}

/* Return whether the previous input has the same rank. */
static bool
is_second(const merging *m, uint32_t index)
{
    const fd_timeline_input *at = m->inputs + index;
    return index > 0 && at[-1].rank == at[0].rank;
}

static fd_perfetto_clock
clock_of(const merging *m, const fd_timeline_input *input)
{
    bool has_base = m->request->has_base
                 && strcmp(input->clock.method, "none") != 0
                 && strcmp(input->clock.method, "start") != 0;
    return (fd_perfetto_clock){input->clock.map,
                               fd_perfetto_step(input->clock.uncertainty_ns),
                               has_base, m->request->base_ns};
}

static fd_status
end_native(merging *m, fd_timeline_input *input, const fd_timeline_ids *ids)
{
    char label[256];
    const fd_perfetto_clock clock = clock_of(m, input);
    snprintf(label, sizeof label, "%.160s: %s, %+" PRId64 " ns", input->path,
             input->clock.method, input->clock.map.offset_ns);
    return fd_perfetto_writer_end(m->native, ids, &clock, label,
                                  &input->native, m->error);
}

static fd_status
end_text(merging *m, fd_timeline_ids *ids)
{
    size_t before = m->text->size;
    fd_status status = fd_timeline_ids_rows(ids, m->text);
    if (m->events == 0 && m->text->size > before) {
        m->text->bytes[before] = m->sorter == NULL ? ' ' : ',';
        m->events = 1;
    }
    return status == FD_OK && m->sorter != NULL
             ? put_aside(m, before, INT64_MIN)
             : status;
}

/* Return the side of flows. A recording precedes the other trace of
 * its rank. */
static fd_profiler_flows_side
side_of(const merging *m, uint32_t index)
{
    const fd_timeline_input *input = &m->inputs[index];
    if (!input->beside) {
        return FD_PROFILER_FLOWS_NOTHING;
    }
    return is_second(m, index) ? FD_PROFILER_FLOWS_ENDS
                               : FD_PROFILER_FLOWS_STARTS;
}

static fd_status
copy_input(merging *m, uint32_t index)
{
    fd_timeline_input *input = &m->inputs[index];
    fd_timeline_reader reader;
    input->lost = input->damaged;
    snprintf(input->trouble, sizeof input->trouble, "%s",
             input->damage != NULL ? input->damage : "");
    fd_timeline_ids ids = {.rank = input->rank,
                           .input = index,
                           .inputs = m->count + m->transfers,
                           .label = input->label,
                           .program = program_beside(input),
                           .named_durations = m->request->named_durations,
                           .first = is_second(m, index) ? m->processes : 0,
                           .spare_pid = &m->spare_pid,
                           .spare_tid = &m->spare_tid};
    fd_profiler_flows_begin(&m->profiler_flows, side_of(m, index), index,
                            &input->clock.map);
    fd_buffer_format(&m->members.metadata, "%s\"%u%s%s\":{",
                     index > 0 ? ",\n" : "", (unsigned)input->rank,
                     input->beside ? " " : "", ids.program);
    fd_status status =
        fd_timeline_reader_open(&reader, input->content, m->error);
    ids.shares_transfers =
        status == FD_OK
        && fd_timeline_recording_transfers(&reader.maker, &input->transfers);
    fd_then(status, copy_items(m, input, &reader, &ids));
    if (status == FD_OK) {
        status =
            m->native != NULL ? end_native(m, input, &ids) : end_text(m, &ids);
    }
    fd_buffer_text(&m->members.metadata, "}");
    input->lost += reader.lost;
    input->lost_bytes += reader.lost_bytes;
    if (reader.trouble[0] != '\0') {
        memcpy(input->trouble, reader.trouble, sizeof input->trouble);
    }
    m->done += reader.in.size;
    m->processes = ids.processes.count;
    input->overlaps = m->overlaps.count;
    fd_overlaps_clear(&m->overlaps);
    fd_timeline_ids_clear(&ids);
    fd_timeline_reader_close(&reader);
    return status;
}

/* Fail if there is no event and an input is damaged. */
static fd_status
check_use(const merging *m)
{
    for (uint32_t i = 0; i < m->count && m->events == 0; i++) {
        const fd_timeline_input *input = &m->inputs[i];
        if (input->lost > 0) {
            return fd_fail(m->error, FD_EFORMAT, "%s: %s", input->path,
                           input->trouble);
        }
    }
    return FD_OK;
}

/* Return the number of files in the output; an input can be a merge. */
static uint64_t
merged_files(const merging *m)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t files = m->inputs[i].merged;
        count += files > 1 ? files : 1;
    }
    return count;
}

static fd_status
write_all(merging *m)
{
    fd_status status;
    m->out = fd_bytes_out_open(m->request->output, &status, m->error);
    if (status != FD_OK) {
        return status;
    }
    m->text = fd_bytes_out_text(m->out);
    m->spare_pid = FD_TIMELINE_RANKS * (uint32_t)FD_TIMELINE_PIDS;
    m->spare_tid = FD_TIMELINE_FIRST_TID;
    if (fd_timeline_is_native(m->request->output)) {
        m->spare = (fd_perfetto_spare){1, 1};
        m->native = fd_perfetto_writer_new(m->text, m->out, m->request->output,
                                           &m->spare);
        status = m->native != NULL ? FD_OK : FD_ENOMEM;
    }
    else {
        fd_json_writer w = {.to = m->text};
        fd_json_begin_object(&w, NULL);
        fd_json_put_u64(&w, "mergedFiles", merged_files(m));
        fd_json_begin_array(&w, "traceEvents");
    }
    for (uint32_t i = 0; i < m->count && status == FD_OK; i++) {
        status = copy_input(m, i);
    }
    fd_then(status, check_use(m));
    if (status == FD_OK && m->sorter != NULL) {
        status = write_sorted(m);
    }
    if (status == FD_OK) {
        if (m->native == NULL) {
            fd_merged_members_put(&m->members, m->request, m->inputs, m->count,
                                  m->text);
        }
        return fd_bytes_out_keep(m->out, m->error);
    }
    fd_bytes_out_drop(m->out);
    return status;
}

fd_status
fd_timeline_merge(const fd_timeline_request *request,
                  fd_timeline_input *inputs, uint32_t count, fd_error *error)
{
    merging m = {
        .request = request, .inputs = inputs, .count = count, .error = error};
    fd_status status = FD_OK;
    if (request->sorted && !fd_timeline_is_native(request->output)) {
        m.sorter = fd_sorter_new(request->output, FD_SORTER_BUDGET);
        status = m.sorter != NULL ? FD_OK : FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        m.transfers = m.transfers || inputs[i].transfers.list != NULL;
    }
    fd_then(status, write_all(&m));
    fd_sorter_free(m.sorter);
    fd_perfetto_writer_free(m.native);
    fd_profiler_flows_clear(&m.profiler_flows);
    fd_merged_members_clear(&m.members);
    return status;
}
