#include "export/chrome.h"

#include "analysis/slices.h"
#include "export/chrome_head.h"
#include "export/chrome_tracks.h"
#include "export/flows.h"
#include "export/job_names.h"
#include "export/slice_names.h"
#include "export/streams.h"
#include "export/text.h"

#include <stdio.h>
#include <string.h>

/* Readers take equal thread ids of different processes for one thread: a rank
 * has ids of its own. */
enum { IDS_PER_RANK = 100000, FIRST_STREAM = 80000, PIECE = 1 << 17 };

/* What comes next. */
typedef enum chrome_part {
    PART_HEAD,
    PART_RANK, /* its rows */
    PART_STEPS,
    PART_ASYNC,
    PART_THREAD, /* its rows */
    PART_CALLS,
    PART_STREAM, /* its rows */
    PART_INTERVALS,
    PART_FOOT,
    PART_END
} chrome_part;

struct fd_chrome {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    uint32_t at;   /* of the ranks */
    int only;      /* this one, or FD_ALL_RANKS */
    chrome_part part;
    uint32_t event;  /* of the rank: where the part is */
    uint32_t thread; /* of the rank, whose events begin there */
    uint32_t count;  /* of them */
    fd_slices slices;
    fd_streams streams; /* of the rank; `thread` is the place in them */
    uint64_t last;    /* ns: its latest edge */
    fd_slice_names names;
    fd_buffer *json; /* owned; every name */
    fd_buffer *json_categories; /* the same */
    fd_export_options options;
    fd_clock_map clock; /* from times of the rank to those of the file */
    fd_export_durations durations;
    bool no_flows;
    fd_flows flows; /* of the rank */
    bool first;
    fd_buffer scratch;
    fd_buffer *to; /* borrowed while a piece is written */
    size_t enough; /* its size then */
};

typedef struct fd_chrome writer;

/* What a slice has to do with a launch; number 0: nothing. */
typedef struct launch_end {
    uint32_t number;
    bool is_interval; /* that was launched, else the call that did */
} launch_end;

static uint32_t
steps_track(const writer *w)
{
    return (w->rank->rank + 1) * IDS_PER_RANK;
}

static uint32_t
thread_track(const writer *w, uint32_t thread)
{
    return steps_track(w) + 1 + thread;
}

static void
next_event(writer *w)
{
    fd_buffer_text(w->to, w->first ? "\n" : ",\n");
    w->first = false;
}

static int64_t
shown(const writer *w, uint64_t time)
{
    return fd_clock_apply(&w->clock, (int64_t)time);
}

static void
write_row(writer *w, const char *what, uint32_t tid, const char *text,
          size_t size)
{
    next_event(w);
    fd_buffer_format(w->to,
                     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\","
                     "\"args\":{\"name\":",
                     w->rank->rank + 1, tid, what);
    fd_buffer_json(w->to, text, size);
    fd_buffer_text(w->to, "}}");
}

static void
write_place(writer *w, const char *what, uint32_t tid, uint32_t place)
{
    next_event(w);
    fd_buffer_format(w->to,
                     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\","
                     "\"args\":{\"sort_index\":%u}}",
                     w->rank->rank + 1, tid, what, place);
}

static void
write_track(writer *w, uint32_t tid, const char *name)
{
    write_row(w, "thread_name", tid, name, strlen(name));
    write_place(w, "thread_sort_index", tid, tid);
}

/* Up to the name. A launch is tied to its slices by their own fields: of slices
 * that begin at one time readers give an event's arrow to the innermost. */
static void
begin_slice(writer *w, uint32_t tid, uint64_t start, uint64_t end,
            launch_end launch)
{
    next_event(w);
    fd_buffer_text(w->to, "{\"ph\":\"X\",\"pid\":");
    fd_buffer_u64(w->to, (uint64_t)w->rank->rank + 1);
    fd_buffer_text(w->to, ",\"tid\":");
    fd_buffer_u64(w->to, tid);
    fd_buffer_text(w->to, ",\"ts\":");
    fd_chrome_us(w->to, shown(w, start));
    fd_buffer_text(w->to, ",\"dur\":");
    fd_chrome_us(w->to, shown(w, end) - shown(w, start));
    if (launch.number != 0) {
        fd_buffer_format(w->to, ",\"bind_id\":\"0x%llx\",\"%s\":true",
                         (unsigned long long)fd_launch_id(w->rank->rank,
                                                          launch.number),
                         launch.is_interval ? "flow_in" : "flow_out");
    }
    fd_buffer_text(w->to, ",\"name\":");
}

/* Up to its arguments. */
static void
write_slice(writer *w, uint32_t tid, const char *name, size_t size,
            const char *category, uint64_t start, uint64_t end,
            launch_end launch)
{
    begin_slice(w, tid, start, end, launch);
    fd_buffer_text(w->to, "\"");
    fd_buffer_bytes(w->to, name, size);
    if (w->durations == FD_DURATIONS_NAME) {
        fd_buffer_text(w->to, " (");
        fd_text_time(w->to, end - start);
        fd_buffer_text(w->to, ")");
    }
    fd_buffer_text(w->to, "\",\"cat\":\"");
    fd_buffer_text(w->to, category);
    fd_buffer_text(w->to, "\"");
}

static void
write_job(writer *w, uint32_t tid, const fd_trace_event *event, uint64_t start,
          launch_end launch)
{
    bool on_stream = w->part == PART_INTERVALS;
    const fd_trace_job *job = &w->rank->jobs.list[event->context];
    fd_job_number numbers[FD_JOB_NUMBERS];
    int count = fd_job_numbers(job, numbers);
    w->scratch.size = 0;
    fd_job_name(w->trace, job, &w->scratch);
    if (w->durations != FD_DURATIONS_ARGS) {
        fd_job_duration(event->duration, &w->scratch);
    }
    begin_slice(w, tid, start, event->start + event->duration, launch);
    fd_buffer_json(w->to, w->scratch.bytes, w->scratch.size);
    fd_buffer_format(w->to, ",\"cat\":\"%s\",\"args\":{",
                     on_stream ? FD_JOB_ON_STREAM : FD_JOB_CATEGORY);
    for (int i = 0; i < count; i++) {
        fd_buffer_format(w->to, "%s\"%s\":%llu", i > 0 ? "," : "",
                         numbers[i].name,
                         (unsigned long long)numbers[i].value);
    }
    fd_buffer_text(w->to, job->open ? ",\"open\":true}}" : "}}");
}

static void
write_event(writer *w, uint32_t tid, const fd_trace_event *event,
            uint64_t start, uint64_t record_id, launch_end launch)
{
    if (event->kind == FD_EVENT_JOB) {
        write_job(w, tid, event, start, launch);
        return;
    }
    fd_slice_name name = w->names.of_context[event->context];
    write_slice(w, tid, w->json[name.name].bytes, w->json[name.name].size,
                w->json_categories[name.category].bytes, start,
                event->start + event->duration, launch);
    if (event->kind == FD_EVENT_OPEN) {
        fd_buffer_text(w->to, ",\"args\":{\"open\":true}}");
    }
    else if (record_id != 0) {
        fd_buffer_text(w->to, ",\"args\":{\"Record function id\":");
        fd_buffer_u64(w->to, record_id);
        fd_buffer_text(w->to, "}}");
    }
    else {
        fd_buffer_text(w->to, "}");
    }
}

/* One end of an arrow, of the slice that begins here. */
static void
write_flow(writer *w, uint32_t tid, uint64_t time, uint32_t number, bool ends)
{
    next_event(w);
    fd_buffer_format(w->to,
                     "{\"ph\":\"%s,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\","
                     "\"pid\":%u,\"tid\":%u,\"id\":%llu,\"ts\":",
                     ends ? "f\",\"bp\":\"e\"" : "s\"", w->rank->rank + 1, tid,
                     (unsigned long long)fd_flow_id(w->rank->rank, number));
    fd_chrome_us(w->to, shown(w, time));
    fd_buffer_text(w->to, "}");
}

/* Those from forward to backward have names as PyTorch's. */
static void
write_flows(writer *w, uint32_t tid, uint64_t time, uint32_t event)
{
    uint32_t flow;
    uint32_t end = fd_flows_from(&w->flows, event, &flow);
    for (; flow < end; flow++) {
        write_flow(w, tid, time, flow, false);
    }
    uint32_t into = fd_flows_to(&w->flows, event);
    if (into != 0) {
        write_flow(w, tid, time, into - 1, true);
    }
}

/* What was lost, on a track ('t') or across those of the process ('p'). */
static void
write_lost(writer *w, char scope, uint32_t tid, uint64_t lost,
           const char *what, uint64_t time)
{
    if (lost > 0) {
        next_event(w);
        fd_buffer_format(w->to,
                         "{\"ph\":\"i\",\"s\":\"%c\",\"pid\":%u,\"tid\":%u,"
                         "\"name\":\"%llu %s found no room in the "
                         "timeline\",\"ts\":",
                         scope, w->rank->rank + 1, tid,
                         (unsigned long long)lost, what);
        fd_chrome_us(w->to, shown(w, time));
        fd_buffer_text(w->to, "}");
    }
}

/* Nestable asynchronous events may overlap; each has an id of its own, within
 * its process: those of a plain `id` are shown outside all processes. */
static void
write_async(writer *w, const fd_trace_event *event, uint32_t number)
{
    fd_slice_name name = w->names.of_context[event->context];
    for (int end = 0; end < 2; end++) {
        next_event(w);
        fd_buffer_format(w->to,
                         "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,"
                         "\"id2\":{\"local\":\"0x%x\"},\"ts\":",
                         end ? 'e' : 'b', w->rank->rank + 1,
                         thread_track(w, event->thread), number);
        fd_chrome_us(w->to, shown(w, event->start + (end ? event->duration : 0)));
        fd_buffer_text(w->to, ",\"name\":\"");
        fd_buffer_bytes(w->to, w->json[name.name].bytes,
                        w->json[name.name].size);
        fd_buffer_text(w->to, "\",\"cat\":\"async\"}");
    }
}

static void
write_step(writer *w, const fd_trace_event *event)
{
    char name[32];
    snprintf(name, sizeof name, "step %u", event->context);
    write_slice(w, steps_track(w), name, strlen(name), "step", event->start,
                event->start + event->duration, (launch_end){0});
    fd_buffer_text(w->to, "}");
}

static void
begin_part(writer *w, chrome_part part)
{
    w->part = part;
    w->event = 0;
    w->thread = 0;
}

/* The first rank that is asked for, from `at` on. */
static void
begin_rank(writer *w)
{
    while (w->at < w->trace->ranks.count && w->only != FD_ALL_RANKS
           && w->only != (int)w->at) {
        w->at++;
    }
    w->rank = &w->trace->ranks.list[w->at];
    begin_part(w, w->at < w->trace->ranks.count ? PART_RANK : PART_FOOT);
}

static fd_clock_map
clock_of(const writer *w)
{
    return w->options.clocks != NULL
               ? w->options.clocks[w->at].map
               : (fd_clock_map){.offset_ns
                                = fd_rank_offset(w->trace, w->rank)
                                  - fd_first_offset(w->trace)};
}

static fd_status
rank_part(writer *w)
{
    fd_buffer label = {.bytes = NULL};
    w->clock = clock_of(w);
    fd_rank_label(w->trace, w->rank, &label);
    write_row(w, "process_name", 0, label.bytes, label.size);
    write_place(w, "process_sort_index", 0, w->rank->rank);
    write_lost(w, 'p', steps_track(w),
               w->rank->counters[FD_COUNT_GPU_EVENTS_LOST], "GPU intervals",
               0);
    fd_status status = label.status;
    fd_buffer_clear(&label);
    fd_chrome_tracks tracks = {w->trace, w->rank, &w->clock,
                               steps_track(w) + FIRST_STREAM - 1,
                               steps_track(w)};
    if (status == FD_OK) {
        status = fd_chrome_tracks_write(&tracks, w->to);
    }
    begin_part(w, PART_STEPS);
    fd_flows_clear(&w->flows);
    if (status == FD_OK && !w->no_flows) {
        status = fd_flows_make(&w->flows, w->rank);
    }
    return status == FD_OK ? fd_streams_make(&w->streams, w->rank) : status;
}

static fd_status
steps_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    bool any = false;
    for (; w->event < w->rank->events.count; w->event++) {
        if (events[w->event].kind == FD_EVENT_STEP) {
            if (!any) {
                write_track(w, steps_track(w), "Steps");
                any = true;
            }
            write_step(w, &events[w->event]);
        }
    }
    begin_part(w, PART_ASYNC);
    return FD_OK;
}

static fd_status
async_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    for (; w->event < w->rank->events.count; w->event++) {
        if (events[w->event].kind == FD_EVENT_ASYNC) {
            write_async(w, &events[w->event], w->event);
            if (w->to->size >= w->enough) {
                w->event++;
                return FD_OK;
            }
        }
    }
    begin_part(w, PART_THREAD);
    return FD_OK;
}

/* Of a thread that kept nothing, what it lost is shown all the same. */
static fd_status
thread_part(writer *w)
{
    const fd_trace_rank *rank = w->rank;
    if (w->thread == rank->threads.count) {
        begin_part(w, PART_STREAM);
        return FD_OK;
    }
    const fd_trace_thread *thread = &rank->threads.list[w->thread];
    const fd_trace_event *events = rank->events.list + w->event;
    bool has_any = w->event < rank->events.count
                   && events->thread == w->thread;
    uint32_t count = has_any ? fd_events_of_thread(rank->events.list,
                                                   rank->events.count,
                                                   w->event)
                                   - w->event
                             : 0;
    if (count == 0 && thread->events_lost == 0) {
        w->thread++;
        return FD_OK;
    }
    fd_status status = fd_slices_make(&w->slices, events, count);
    write_track(w, thread_track(w, w->thread),
                fd_trace_text(w->trace, thread->role));
    w->last = 0;
    w->part = PART_CALLS;
    w->count = count;
    return status;
}

static fd_status
calls_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list + w->event;
    uint32_t track = thread_track(w, w->thread);
    fd_slice_edge edge;
    while (fd_slices_next(&w->slices, &edge)) {
        uint32_t event = w->event + edge.event;
        w->last = edge.time;
        if (edge.begins) {
            launch_end launch = {
                w->no_flows ? 0 : fd_streams_flow_of_call(&w->streams, event),
                false};
            write_event(w, track, &events[edge.event], edge.time,
                        fd_trace_record_id(w->rank, event), launch);
            write_flows(w, track, edge.time, event);
            if (w->to->size >= w->enough) {
                return FD_OK;
            }
        }
    }
    write_lost(w, 't', track, w->rank->threads.list[w->thread].events_lost,
               "events", w->last);
    fd_slices_clear(&w->slices);
    w->event += w->count;
    w->thread++;
    w->part = PART_THREAD;
    return FD_OK;
}

static uint32_t
stream_track(const writer *w)
{
    return steps_track(w) + FIRST_STREAM + w->thread;
}

static fd_status
stream_part(writer *w)
{
    char name[FD_STREAM_NAME];
    if (w->thread == w->streams.tracks.count) {
        fd_streams_clear(&w->streams);
        w->at++;
        begin_rank(w);
        return FD_OK;
    }
    const fd_stream_track *track = &w->streams.tracks.list[w->thread];
    fd_status status = fd_slices_make(&w->slices,
                                      w->streams.events + track->first,
                                      track->count);
    fd_stream_name(track, name);
    write_track(w, stream_track(w), name);
    w->part = PART_INTERVALS;
    return status;
}

static fd_status
intervals_part(writer *w)
{
    uint32_t first = w->streams.tracks.list[w->thread].first;
    fd_slice_edge edge;
    while (fd_slices_next(&w->slices, &edge)) {
        uint32_t event = first + edge.event;
        launch_end launch = {w->no_flows ? 0 : w->streams.flows[event], true};
        if (edge.begins) {
            write_event(w, stream_track(w), &w->streams.events[event],
                        edge.time, 0, launch);
        }
        if (w->to->size >= w->enough) {
            return FD_OK;
        }
    }
    fd_slices_clear(&w->slices);
    w->thread++;
    w->part = PART_STREAM;
    return FD_OK;
}

static fd_status
head_part(writer *w)
{
    fd_chrome_head(w->trace, &w->options, w->to);
    begin_rank(w);
    return FD_OK;
}

static fd_status
foot_part(writer *w)
{
    fd_buffer_text(w->to, "\n]}\n");
    w->part = PART_END;
    return FD_OK;
}

fd_chrome *
fd_chrome_open(const fd_trace *trace, const fd_export_options *options,
               fd_status *status)
{
    fd_chrome *chrome = fd_calloc(1, sizeof *chrome);
    if (chrome == NULL) {
        *status = FD_ENOMEM;
        return NULL;
    }
    chrome->trace = trace;
    chrome->only = options->rank;
    chrome->options = *options;
    chrome->first = true;
    chrome->durations = options->durations;
    chrome->no_flows = options->no_flows;
    *status = fd_slice_names_make(&chrome->names, trace);
    if (*status == FD_OK) {
        *status = fd_slice_texts_json(&chrome->names.names, &chrome->json);
    }
    if (*status == FD_OK) {
        *status = fd_slice_texts_json(&chrome->names.categories,
                                      &chrome->json_categories);
    }
    if (*status != FD_OK) {
        fd_chrome_close(chrome);
        return NULL;
    }
    return chrome;
}

fd_status
fd_chrome_next(fd_chrome *chrome, fd_buffer *to)
{
    static fd_status (*const parts[])(writer *w) = {
        [PART_HEAD] = head_part,     [PART_RANK] = rank_part,
        [PART_STEPS] = steps_part,   [PART_ASYNC] = async_part,
        [PART_THREAD] = thread_part, [PART_CALLS] = calls_part,
        [PART_STREAM] = stream_part, [PART_INTERVALS] = intervals_part,
        [PART_FOOT] = foot_part,
    };
    size_t before = to->size;
    fd_status status = FD_OK;
    chrome->to = to;
    chrome->enough = before + PIECE;
    while (status == FD_OK && to->status == FD_OK && chrome->part != PART_END
           && (to->size == before || chrome->part == PART_RANK)) {
        status = parts[chrome->part](chrome);
    }
    status = status == FD_OK ? chrome->scratch.status : status;
    return status == FD_OK ? to->status : status;
}

void
fd_chrome_close(fd_chrome *chrome)
{
    if (chrome != NULL) {
        fd_slice_texts_free(&chrome->names.names, chrome->json);
        fd_slice_texts_free(&chrome->names.categories, chrome->json_categories);
        fd_slice_names_clear(&chrome->names);
        fd_slices_clear(&chrome->slices);
        fd_buffer_clear(&chrome->scratch);
        fd_flows_clear(&chrome->flows);
        fd_streams_clear(&chrome->streams);
        fd_free(chrome);
    }
}

fd_status
fd_export_chrome(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    size_t before;
    fd_status status = fd_timeline_check(trace, options->rank, error);
    fd_chrome *chrome = status == FD_OK
                            ? fd_chrome_open(trace, options, &status)
                            : NULL;
    do {
        before = to->size;
        status = status == FD_OK ? fd_chrome_next(chrome, to) : status;
    } while (status == FD_OK && to->size > before);
    fd_chrome_close(chrome);
    return status;
}
