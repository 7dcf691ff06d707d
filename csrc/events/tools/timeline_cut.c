#include "events/tools/timeline_cut.h"

#include "base/budget.h"
#include "events/readers/perfetto_reader.h"
#include "events/tools/input_survey.h"
#include "events/tools/timeline_merge.h"
#include "events/tools/trace_outline.h"
#include "events/writers/chrome_writer.h"
#include "events/writers/perfetto_writer.h"
#include "streams/output_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PROGRESS_STEP = 1 << 24,
    PASSES = 3,
    MOST_FLOWS = 1 << 20,
    /* of a flow */
    INSIDE = 1,
    OUTSIDE = 2
};

typedef struct cutting {
    const fd_cut_request *request;
    fd_cut_result *cut;
    fd_timeline_outline outline; /* first pass: steps */
    bool has_first;
    int64_t first; /* the earliest time */
    int64_t last;
    fd_timeline_slices slices; /* second pass: pairs and flows */
    /* one bit per event: part of a pair in the window */
    FD_VECTOR(uint64_t) keep;
    fd_map flows;
    uint64_t merged;   /* number of files of a merge; 0: not a merge */
    fd_bytes_out *out; /* third pass */
    fd_buffer *text;
    fd_perfetto_writer *native; /* owned; NULL: Chrome JSON */
    fd_timeline_ids ids;        /* for a native trace */
    bool begun;                 /* the outermost brace or bracket
                                 * was written */
    bool in_events;
    bool had_events;
    bool any; /* an item was written at the current level */
    bool bare;
    uint64_t number; /* number of the current event */
    uint64_t done;
    uint64_t reported;
    fd_error *error;
} cutting;

typedef fd_status take_item(cutting *c, const fd_timeline_reader *reader,
                            bool is_event);

static fd_status
report(cutting *c, const fd_timeline_reader *reader)
{
    const fd_cut_request *request = c->request;
    uint64_t done = c->done + reader->in.read;
    if (request->progress == NULL || done < c->reported) {
        return FD_OK;
    }
    c->reported = done + PROGRESS_STEP;
    return request->progress(request->context, done, PASSES * reader->in.size)
             ? FD_OK
             : fd_fail(c->error, FD_EINVAL, "stopped");
}

static fd_status
read_all(cutting *c, take_item *take)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_cut_result *cut = c->cut;
    const char *path = c->request->path;
    c->number = 0;
    fd_status status =
        fd_timeline_reader_open(&reader, path, c->request->privacy, c->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = take(c, &reader, item == FD_TIMELINE_EVENT);
        c->number += item == FD_TIMELINE_EVENT;
        if (status == FD_OK) {
            status = report(c, &reader);
        }
    }
    status = status == FD_OK ? reader.status : status;
    cut->events = c->number;
    cut->lost = reader.lost;
    cut->lost_bytes = reader.lost_bytes;
    c->bare = reader.bare;
    memcpy(cut->trouble, reader.trouble, sizeof cut->trouble);
    if (status == FD_OK && !reader.is_trace) {
        status = fd_fail(c->error, FD_EFORMAT, "%s: %s", path,
                         reader.trouble[0] != '\0' ? reader.trouble
                                                   : "no traceEvents in it");
    }
    c->done += reader.in.size;
    fd_timeline_reader_close(&reader);
    return status;
}

static fd_status
take_outline(cutting *c, const fd_timeline_reader *reader, bool is_event)
{
    const fd_timeline_event *event = &reader->event;
    uint64_t number;
    if (!is_event) {
        bool merged = fd_span_is(reader->key, "mergedFiles")
                   && fd_span_u64(reader->value, &number)
                   && number <= UINT32_MAX;
        c->merged = merged ? number : c->merged;
        return FD_OK;
    }
    if (event->phase != 'M' && event->phase != 0 && event->has_start
        && event->start > -FD_SLICES_TIME && event->start < FD_SLICES_TIME) {
        c->first =
            !c->has_first || event->start < c->first ? event->start : c->first;
        c->last =
            !c->has_first || event->start > c->last ? event->start : c->last;
        c->has_first = true;
    }
    return c->request->steps ? fd_timeline_outline_event(&c->outline, event,
                                                         &(fd_clock_map){0})
                             : FD_OK;
}

/* Set the bounds from the first start to the last end of these steps on all
 * ranks. */
static fd_status
find_steps(cutting *c)
{
    const fd_cut_request *request = c->request;
    bool any = false;
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    fd_status status = fd_timeline_outline_finish(&c->outline, 0);
    for (uint32_t i = 0; i < c->outline.ranks.count; i++) {
        const fd_timeline_rank *rank = &c->outline.ranks.list[i];
        for (uint32_t k = 0; k < rank->steps.count; k++) {
            const fd_timeline_step *step = &rank->steps.list[k];
            least = step->number < least ? step->number : least;
            most = step->number > most ? step->number : most;
            if (step->number < request->from || step->number >= request->to) {
                continue;
            }
            c->cut->from_ns = !any || step->start < c->cut->from_ns
                                ? step->start
                                : c->cut->from_ns;
            c->cut->to_ns =
                !any || step->end > c->cut->to_ns ? step->end : c->cut->to_ns;
            any = true;
        }
    }
    if (status != FD_OK || any) {
        return status;
    }
    return least > most
             ? fd_fail(c->error, FD_EINVAL,
                       "%s: no steps (ProfilerStep#N or a track of steps): "
                       "use --time",
                       request->path)
             : fd_fail(c->error, FD_EINVAL,
                       "%s: no such steps: the trace has %" PRId64
                       " to %" PRId64,
                       request->path, least, most);
}

static fd_status
find_window(cutting *c)
{
    const fd_cut_request *request = c->request;
    fd_cut_result *cut = c->cut;
    if (!c->has_first) {
        return fd_fail(c->error, FD_EINVAL, "%s: no event with a time",
                       request->path);
    }
    if (request->steps) {
        return find_steps(c);
    }
    bool fits =
        request->from != FD_CUT_FROM_START
        && !__builtin_add_overflow(c->first, request->from, &cut->from_ns);
    cut->from_ns = fits ? cut->from_ns : c->first;
    fits = request->to != FD_CUT_TO_END
        && !__builtin_add_overflow(c->first, request->to, &cut->to_ns);
    cut->to_ns = fits ? cut->to_ns : INT64_MAX;
    return FD_OK;
}

static bool
overlaps(const cutting *c, int64_t start, int64_t end)
{
    return start < c->cut->to_ns
        && (end > c->cut->from_ns || start >= c->cut->from_ns);
}

static fd_status
mark(cutting *c, uint64_t index)
{
    fd_status status = FD_OK;
    while (status == FD_OK && c->keep.count <= index / 64) {
        status = fd_vector_push(&c->keep, 0);
    }
    if (status == FD_OK) {
        c->keep.list[index / 64] |= UINT64_C(1) << index % 64;
    }
    return status;
}

static bool
is_marked(const cutting *c, uint64_t index)
{
    return index / 64 < c->keep.count
        && (c->keep.list[index / 64] >> index % 64 & 1) != 0;
}

static uint64_t
flow_of(const fd_timeline_event *event)
{
    const fd_span parts[] = {event->cat, event->name, fd_timeline_id(event)};
    uint64_t key = 2;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fd_span text = fd_timeline_text(parts[i]);
        key = fd_hash_next(key, text.from != NULL ? fd_hash_bytes(
                                    text.from, fd_span_size(text))
                                                  : 1);
    }
    return key | 1;
}

/* Note whether a flow has events inside and outside the window. The bounds are
 * outside, because a slice that ends at a bound is not kept. */
static fd_status
note_flow(cutting *c, const fd_timeline_event *event)
{
    uint64_t key = flow_of(event);
    uint32_t state = fd_map_get(&c->flows, key);
    bool inside = event->has_start && event->start > c->cut->from_ns
               && event->start < c->cut->to_ns;
    uint32_t now = state | (inside ? INSIDE : OUTSIDE);
    bool full = c->flows.count >= fd_budget(MOST_FLOWS);
    return now == state || (state == 0 && full)
             ? FD_OK
             : fd_map_put(&c->flows, key, now);
}

static bool
is_flow(char phase)
{
    return phase == 's' || phase == 't' || phase == 'f';
}

static bool
is_paired(char phase)
{
    return phase == 'B' || phase == 'E' || phase == 'b' || phase == 'e';
}

static fd_status
take_pairs(cutting *c, const fd_timeline_reader *reader, bool is_event)
{
    const fd_timeline_event *event = &reader->event;
    fd_slice slice;
    bool whole;
    if (!is_event) {
        return FD_OK;
    }
    if (is_flow(event->phase)) {
        return note_flow(c, event);
    }
    if (!is_paired(event->phase)) {
        return FD_OK;
    }
    uint64_t alone = c->slices.endless;
    c->slices.events = c->number;
    fd_status status =
        fd_timeline_slices_take(&c->slices, event, &slice, &whole);
    if (status == FD_OK && whole && overlaps(c, slice.start, slice.end)) {
        status = mark(c, slice.number);
        return status == FD_OK ? mark(c, c->number) : status;
    }
    return status == FD_OK && c->slices.endless > alone
                && overlaps(c, event->start, event->start)
             ? mark(c, c->number)
             : status;
}

/* Mark slices without an end: they last until the end of the trace. */
static fd_status
mark_open(cutting *c)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < c->slices.open.count && status == FD_OK; i++) {
        const fd_slice_open *open = &c->slices.open.list[i];
        if (open->key != 0 && open->slice.start < c->cut->to_ns) {
            status = mark(c, open->slice.number);
        }
    }
    return status;
}

static bool
is_kept(cutting *c, const fd_timeline_event *event)
{
    char phase = event->phase;
    if (phase == 'M') {
        return true;
    }
    if (is_paired(phase)) {
        return is_marked(c, c->number);
    }
    if (!event->has_start || phase == 0) {
        c->cut->timeless++;
        return false;
    }
    if (phase == 'X') {
        int64_t end;
        bool whole =
            event->has_duration && event->duration > 0
            && !__builtin_add_overflow(event->start, event->duration, &end);
        return overlaps(c, event->start, whole ? end : event->start);
    }
    bool inside = overlaps(c, event->start, event->start);
    if (is_flow(phase) && fd_map_get(&c->flows, flow_of(event)) != INSIDE) {
        c->cut->flows_left += inside;
        return false;
    }
    return inside;
}

static void
begin_output(cutting *c, bool bare)
{
    if (!c->begun) {
        fd_buffer_text(c->text, bare ? "[" : "{");
        c->begun = true;
        c->bare = bare;
        c->in_events = c->had_events = bare;
    }
}

static void
separate(cutting *c)
{
    fd_buffer_text(c->text, c->any ? ",\n" : "\n");
    c->any = true;
}

static fd_status
write_member(cutting *c, const fd_timeline_reader *reader)
{
    if (c->in_events) {
        fd_buffer_text(c->text, "\n]");
        c->in_events = false;
        c->any = true;
    }
    separate(c);
    fd_buffer_text(c->text, "\"");
    fd_scan_copy(&reader->scan, reader->key, c->text);
    fd_buffer_text(c->text, "\":");
    fd_scan_copy(&reader->scan, reader->value, c->text);
    c->cut->repaired += reader->repairs;
    return fd_bytes_out_flow(c->out, c->error);
}

static fd_status
begin_events(cutting *c)
{
    if (c->in_events) {
        return FD_OK;
    }
    if (c->had_events) {
        return fd_fail(c->error, FD_EFORMAT,
                       "%s: two arrays of events: `timeline merge` joins them",
                       c->request->path);
    }
    separate(c);
    fd_buffer_text(c->text, "\"traceEvents\":[");
    c->in_events = c->had_events = true;
    c->any = false;
    return FD_OK;
}

static fd_status
take_output(cutting *c, const fd_timeline_reader *reader, bool is_event)
{
    const fd_timeline_event *event = &reader->event;
    begin_output(c, reader->bare);
    if (!is_event) {
        return write_member(c, reader);
    }
    fd_status status = begin_events(c);
    if (status != FD_OK || !is_kept(c, event)) {
        return status;
    }
    separate(c);
    fd_chrome_print(event, c->text);
    c->cut->repaired += event->repairs;
    if (event->phase == 'M') {
        c->cut->rows++;
    }
    else {
        c->cut->kept++;
    }
    return fd_bytes_out_flow(c->out, c->error);
}

static void
end_output(cutting *c)
{
    if (!c->had_events && !c->bare) {
        fd_buffer_text(c->text, c->any ? ",\n\"traceEvents\":["
                                       : "\n"
                                         "\"traceEvents\":[");
        c->in_events = true;
    }
    fd_buffer_text(c->text, c->in_events ? "\n]" : "");
    fd_buffer_text(c->text, c->bare ? "\n" : "\n}\n");
}

/* Add an event. Without a valid time, or if its process is one too many, it is
 * skipped. */
static fd_status
take_native(cutting *c, const fd_timeline_reader *reader, bool is_event)
{
    const fd_timeline_event *event = &reader->event;
    uint64_t number;
    if (!is_event) {
        if (fd_span_is(reader->key, "otherPackets")
            && fd_span_u64(reader->value, &number)) {
            c->cut->native.others = number;
        }
        return FD_OK;
    }
    if (!is_kept(c, event)) {
        return FD_OK;
    }
    fd_status status =
        fd_perfetto_writer_event(c->native, event, &c->ids, c->error);
    bool skipped = status == FD_EFORMAT || status == FD_EFULL;
    c->cut->repaired += event->repairs;
    c->cut->rows += event->phase == 'M';
    c->cut->kept += event->phase != 'M' && !skipped;
    c->cut->timeless += skipped;
    return skipped         ? FD_OK
         : status != FD_OK ? status
                           : fd_bytes_out_flow(c->out, c->error);
}

/* Write a native trace. Processes keep the names that a merge gave them; those
 * of a single rank get its number. */
static fd_status
write_native(cutting *c, const fd_timeline_survey *survey)
{
    char origin[48] = "fastdispatch: cut";
    char label[32] = "";
    fd_perfetto_spare spare = {1, 1};
    uint32_t spare_pid = FD_TIMELINE_RANKS * (uint32_t)FD_TIMELINE_PIDS;
    uint32_t spare_tid = FD_TIMELINE_FIRST_TID;
    bool ranked = survey->has_rank && c->merged == 0;
    const fd_perfetto_clock clock = {.step_ns = fd_perfetto_step(0),
                                     .has_base = survey->has_base,
                                     .base_ns = survey->base_ns};
    if (c->merged > 0) {
        snprintf(origin, sizeof origin, FD_PERFETTO_MERGE,
                 (unsigned)c->merged);
    }
    if (ranked) {
        snprintf(label, sizeof label, "rank %u", (unsigned)survey->rank);
    }
    c->ids = (fd_timeline_ids){.rank = ranked ? survey->rank : 0,
                               .inputs = 1,
                               .label = label,
                               .program = "",
                               .spare_pid = &spare_pid,
                               .spare_tid = &spare_tid};
    fd_perfetto_origin(c->text, origin);
    c->native = fd_perfetto_writer_new(c->out, c->request->output, &spare);
    if (c->native == NULL) {
        return FD_ENOMEM;
    }
    fd_perfetto_writer_begin(c->native,
                             strcmp(survey->format, FD_PERFETTO_FORMAT) == 0);
    fd_status status = read_all(c, take_native);
    if (status == FD_OK) {
        uint64_t others = c->cut->native.others;
        status = fd_perfetto_writer_end(c->native, &c->ids, &clock, label,
                                        &c->cut->native, c->error);
        c->cut->native.others = others;
    }
    fd_perfetto_writer_free(c->native);
    fd_timeline_ids_clear(&c->ids);
    return status;
}

static fd_status
write_events(cutting *c)
{
    fd_timeline_survey survey;
    if (!fd_timeline_is_native(c->request->output)) {
        return read_all(c, take_output);
    }
    fd_status status = fd_timeline_survey_read(
        &survey, c->request->path,
        (fd_timeline_survey_options){.privacy = c->request->privacy},
        c->error);
    if (status == FD_OK) {
        status = write_native(c, &survey);
    }
    fd_timeline_survey_clear(&survey);
    return status;
}

static fd_status
write_output(cutting *c)
{
    fd_status status;
    c->out = fd_bytes_out_open(c->request->output, &status, c->error);
    if (status != FD_OK) {
        return status;
    }
    c->text = fd_bytes_out_text(c->out);
    status = write_events(c);
    if (status == FD_OK && c->cut->kept == 0) {
        status = fd_fail(c->error, FD_EINVAL,
                         "%s: no event in this window: the trace lasts %.9g s",
                         c->request->path, (double)(c->last - c->first) / 1e9);
    }
    if (status != FD_OK) {
        fd_bytes_out_drop(c->out);
        return status;
    }
    if (!fd_timeline_is_native(c->request->output)) {
        end_output(c);
    }
    return fd_bytes_out_keep(c->out, c->error);
}

fd_status
fd_timeline_cut(const fd_cut_request *request, fd_cut_result *cut,
                fd_error *error)
{
    cutting c = {.request = request, .cut = cut, .error = error};
    *cut = (fd_cut_result){.events = 0};
    fd_status status = read_all(&c, take_outline);
    if (status == FD_OK) {
        status = find_window(&c);
    }
    if (status == FD_OK) {
        status = read_all(&c, take_pairs);
    }
    if (status == FD_OK) {
        status = mark_open(&c);
    }
    if (status == FD_OK) {
        status = write_output(&c);
    }
    fd_timeline_outline_clear(&c.outline);
    fd_timeline_slices_clear(&c.slices);
    fd_vector_clear(&c.keep);
    fd_map_clear(&c.flows);
    return status;
}
