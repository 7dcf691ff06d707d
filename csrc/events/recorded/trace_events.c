#include "events/recorded/trace_events.h"

#include "base/budget.h"
#include "base/sums.h"
#include "events/recorded/call_flows.h"
#include "events/recorded/chrome_head.h"
#include "events/recorded/chrome_tracks.h"
#include "events/recorded/gpu_tracks.h"
#include "events/recorded/slice_names.h"
#include "profile/call_slices.h"
#include "trace/trace.h"

#include <string.h>

/* Thread ids are unique among all ranks, because viewers treat equal ids of
 * two processes as one thread. */
enum { IDS_PER_RANK = 100000, FIRST_STREAM = 80000 };

/* The part of the timeline to read next. */
typedef enum chrome_part {
    PART_HEAD,
    PART_RANK, /* metadata rows of the process */
    PART_COUNTERS,
    PART_STEPS,
    PART_ASYNC,
    PART_THREAD, /* metadata rows of the thread */
    PART_CALLS,
    PART_LAUNCHES, /* calls of CUDA of the thread */
    PART_STREAM,   /* metadata rows of the stream */
    PART_INTERVALS,
    PART_END
} chrome_part;

struct fd_trace_events {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    uint32_t at;     /* index of the current rank */
    uint32_t filled; /* index of the rank of the last batch */
    chrome_part part;
    uint32_t event;  /* first event of the current part, of the rank */
    uint32_t thread; /* current thread; its events start at `event` */
    uint32_t count;  /* number of its events */
    fd_slices slices;
    fd_streams streams; /* of the rank; `thread` is then an index of a
                         * stream */
    uint32_t launch;    /* next call of CUDA */
    uint64_t last;      /* ns: time of the latest start or end */
    fd_slice_names names;
    fd_export_options options;
    bool own_times;
    fd_clock_map clock;     /* from times of the rank to times of the file */
    fd_flows flows;         /* of the current rank */
    fd_transfers transfers; /* of the current rank */
    fd_chrome_counters counters; /* of the current rank */
    bool any_step;
    fd_event_batch *batch; /* borrowed during a call of fill */
    uint32_t enough;       /* number of events at which a batch is full */
};

typedef struct fd_trace_events writer;

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

static int64_t
shown_time(const writer *w, uint64_t time)
{
    return fd_clock_apply(&w->clock, (int64_t)time);
}

static bool
is_full(const writer *w)
{
    return w->batch->items.count >= w->enough;
}

static void
put_track(writer *w, uint32_t tid, fd_chrome_kind kind, const char *name)
{
    fd_chrome_rows(w->batch, w->rank, kind, tid, name, strlen(name), tid);
}

/* Add an event and return it, to be filled before the next one. */
static fd_timeline_event *
event_at(writer *w, char phase, uint32_t tid, uint64_t time)
{
    fd_timeline_event *event = fd_batch_new(w->batch);
    event->phase = phase;
    event->has_start = true;
    event->start = shown_time(w, time);
    event->pid = fd_batch_number(w->batch, (uint64_t)w->rank->rank + 1);
    event->tid = fd_batch_number(w->batch, tid);
    return event;
}

/* Add a slice with a flow as its field, if any: viewers attach a separate flow
 * event to the innermost of the slices that begin at the same time. */
static fd_timeline_event *
slice_at(writer *w, uint32_t tid, uint64_t start, uint64_t end,
         fd_arrow_end arrow)
{
    fd_timeline_event *event = event_at(w, 'X', tid, start);
    event->has_duration = true;
    event->duration = fd_minus(shown_time(w, end), event->start);
    if (arrow.id != 0) {
        event->bind_id = fd_batch_id(w->batch, arrow.id);
        event->flow_in = arrow.ends;
        event->flow_out = !arrow.ends;
    }
    return event;
}

/* Return a name, with the duration if requested. */
static fd_span
timed_name(writer *w, fd_span name, uint64_t duration)
{
    return w->options.durations == FD_DURATIONS_NAME
             ? fd_slice_timed(name, duration, w->batch)
             : name;
}

static void
put_job(writer *w, uint32_t tid, const fd_trace_event *event, uint64_t start,
        fd_arrow_end arrow)
{
    bool named = w->options.durations != FD_DURATIONS_ARGS;
    fd_timeline_event *made =
        slice_at(w, tid, start, event->start + event->duration, arrow);
    fd_job_slice(w->trace, &w->rank->jobs.list[event->context],
                 named ? event->duration : UINT64_MAX, w->batch, made);
    made->cat =
        fd_span_text(w->part == PART_INTERVALS ? "\"" FD_JOB_ON_STREAM "\""
                                               : "\"" FD_JOB_CATEGORY "\"");
}

static void
put_event(writer *w, uint32_t tid, const fd_trace_event *event, uint64_t start,
          uint64_t record_id, fd_arrow_end arrow)
{
    if (event->kind == FD_EVENT_JOB) {
        put_job(w, tid, event, start, arrow);
        return;
    }
    fd_slice_name name = w->names.of_context[event->context];
    uint64_t end = event->start + event->duration;
    fd_timeline_event *made = slice_at(w, tid, start, end, arrow);
    made->name =
        timed_name(w, fd_span_of(&w->names.json[name.name]), end - start);
    made->name_id = w->options.durations == FD_DURATIONS_NAME ? 0 : name.name;
    made->cat = fd_span_of(&w->names.json_categories[name.category]);
    made->cat_id = name.category;
    if (event->kind == FD_EVENT_OPEN) {
        made->args = fd_span_text("{\"open\":true}");
    }
    else if (record_id != 0) {
        made->args =
            fd_batch_number_object(w->batch, "Record function id", record_id);
    }
    else if (w->part == PART_INTERVALS) {
        made->args = fd_stream_arguments(
            w->streams.works[event - w->streams.events], w->batch);
    }
}

/* Add one end of a flow, with a name that PyTorch uses. */
static void
put_flow(writer *w, uint32_t tid, uint64_t time, const char *name,
         fd_arrow_end end)
{
    fd_timeline_event *made = event_at(w, end.ends ? 'f' : 's', tid, time);
    made->encloses = end.ends;
    made->name = made->cat = fd_span_text(name);
    made->id = fd_batch_number(w->batch, end.id);
}

/* Add the flows of calls of a slice. */
static void
put_flows(writer *w, uint32_t tid, uint64_t time, uint32_t event)
{
    static const char name[] = "\"fwdbwd\"";
    uint32_t flow;
    uint32_t end = fd_flows_from(&w->flows, event, &flow);
    for (; flow < end; flow++) {
        uint64_t id = fd_flow_id(w->rank->rank, flow);
        put_flow(w, tid, time, name, (fd_arrow_end){id, false});
    }
    uint32_t into = fd_flows_to(&w->flows, event);
    if (into != 0) {
        uint64_t id = fd_flow_id(w->rank->rank, into - 1);
        put_flow(w, tid, time, name, (fd_arrow_end){id, true});
    }
}

/* Add one end of the flow from a call of CUDA. */
static void
put_correlation(writer *w, uint32_t tid, uint64_t time,
                const fd_trace_gpu_event *work, bool ends)
{
    if (work->function != 0 && !w->options.no_flows) {
        uint64_t id = fd_correlation_id(w->rank->rank, work->correlation);
        put_flow(w, tid, time, "\"ac2g\"", (fd_arrow_end){id, ends});
    }
}

/* Add the number of lost events, on a track ('t') or the process ('p'). */
static void
put_lost(writer *w, char scope, uint32_t tid, uint64_t lost, const char *what,
         uint64_t time)
{
    if (lost > 0) {
        fd_timeline_event *made = event_at(w, 'i', tid, time);
        made->scope = scope;
        made->name = fd_batch_format(
            w->batch, "\"%llu %s found no room in the timeline\"",
            (unsigned long long)lost, what);
    }
}

/* Add an asynchronous event. It uses a nestable phase and a process-local id:
 * events with a plain `id` are shown outside all processes. */
static void
put_async(writer *w, const fd_trace_event *event, uint32_t number)
{
    fd_slice_name name = w->names.of_context[event->context];
    for (int end = 0; end < 2; end++) {
        fd_timeline_event *made =
            event_at(w, end ? 'e' : 'b', thread_track(w, event->thread),
                     event->start + (end ? event->duration : 0));
        made->local_id = fd_batch_id(w->batch, number);
        made->name = fd_span_of(&w->names.json[name.name]);
        made->cat = fd_span_text("\"async\"");
    }
}

static void
put_step(writer *w, const fd_trace_event *event)
{
    if (!w->any_step) {
        put_track(w, steps_track(w), FD_CHROME_TRACK, "Steps");
        w->any_step = true;
    }
    fd_timeline_event *made =
        slice_at(w, steps_track(w), event->start,
                 event->start + event->duration, (fd_arrow_end){0});
    made->name =
        timed_name(w, fd_batch_format(w->batch, "\"step %u\"", event->context),
                   event->duration);
    made->cat = fd_span_text("\"step\"");
}

static void
begin_part(writer *w, chrome_part part)
{
    w->part = part;
    w->event = 0;
    w->thread = 0;
}

/* Begin the first requested rank from index `at` on. */
static void
begin_rank(writer *w)
{
    while (w->at < w->trace->ranks.count && w->options.rank != FD_ALL_RANKS
           && w->options.rank != (int)w->at) {
        w->at++;
    }
    w->rank = &w->trace->ranks.list[w->at];
    begin_part(w, w->at < w->trace->ranks.count ? PART_RANK : PART_END);
}

static fd_chrome_tracks
side_tracks(const writer *w)
{
    return (fd_chrome_tracks){w->trace, w->rank, &w->clock,
                              steps_track(w) + FIRST_STREAM - 1,
                              steps_track(w)};
}

static fd_status
rank_part(writer *w)
{
    fd_buffer label = {.bytes = NULL};
    w->filled = w->at;
    w->clock = w->own_times ? (fd_clock_map){.offset_ns = 0}
                            : fd_export_clock_of(w->trace, &w->options, w->at);
    fd_rank_label(w->trace, w->rank, &label);
    fd_chrome_rows(w->batch, w->rank, FD_CHROME_PROCESS, 0, label.bytes,
                   label.size, w->rank->rank);
    put_lost(w, 'p', steps_track(w),
             w->rank->counters[FD_COUNT_GPU_EVENTS_LOST], "GPU intervals", 0);
    fd_status status = label.status;
    fd_buffer_clear(&label);
    fd_chrome_tracks tracks = side_tracks(w);
    fd_chrome_phases(&tracks, w->batch);
    fd_then(status, fd_chrome_counters_make(&w->counters, w->rank));
    begin_part(w, PART_COUNTERS);
    fd_flows_clear(&w->flows);
    if (status == FD_OK && !w->options.no_flows) {
        status = fd_flows_make(&w->flows, w->rank);
    }
    w->transfers = w->options.transfers != NULL ? w->options.transfers[w->at]
                                                : (fd_transfers){NULL, 0};
    w->launch = 0;
    return fd_then(status, fd_streams_make(&w->streams, w->rank));
}

static fd_status
counters_part(writer *w)
{
    const fd_chrome_tracks tracks = side_tracks(w);
    while (fd_chrome_counters_next(&w->counters, &tracks, w->batch)) {
        if (is_full(w)) {
            return FD_OK;
        }
    }
    fd_chrome_counters_clear(&w->counters);
    begin_part(w, PART_STEPS);
    w->any_step = false;
    return FD_OK;
}

/* Add the steps, or the asynchronous events, of the rank. */
static fd_status
kind_part(writer *w)
{
    uint8_t kind = w->part == PART_STEPS ? FD_EVENT_STEP : FD_EVENT_ASYNC;
    while (w->event < w->rank->events.count) {
        const fd_trace_event *event = &w->rank->events.list[w->event++];
        if (event->kind == kind && kind == FD_EVENT_STEP) {
            put_step(w, event);
        }
        else if (event->kind == kind) {
            put_async(w, event, w->event - 1);
        }
        if (is_full(w)) {
            return FD_OK;
        }
    }
    begin_part(w, w->part + 1);
    return FD_OK;
}

/* Return the next call of CUDA on the current thread; NULL after the last. */
static const fd_trace_gpu_event *
next_launch(const writer *w)
{
    return w->launch < w->streams.launches.count
                && w->streams.launches.list[w->launch]->thread == w->thread
             ? w->streams.launches.list[w->launch]
             : NULL;
}

/* Begin the next thread. Without events, it is shown if it lost events. */
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
    bool has_any =
        w->event < rank->events.count && events->thread == w->thread;
    uint32_t end = has_any ? fd_events_of_thread(rank->events.list,
                                                 rank->events.count, w->event)
                           : w->event;
    uint32_t count = end - w->event;
    if (count == 0 && thread->events_lost == 0 && next_launch(w) == NULL) {
        w->thread++;
        return FD_OK;
    }
    fd_status status = fd_slices_make(&w->slices, events, count);
    put_track(w, thread_track(w, w->thread), FD_CHROME_THREAD,
              fd_trace_text(w->trace, thread->role));
    w->last = 0;
    w->part = PART_CALLS;
    w->count = count;
    return status;
}

static uint64_t
launch_id(const writer *w, uint32_t number)
{
    return number != 0 && !w->options.no_flows
             ? fd_launch_id(w->rank->rank, number)
             : 0;
}

/* Add an end of a transfer as a slice of length 0. */
static void
put_moment(writer *w, uint32_t tid, uint64_t time, const char *name,
           fd_arrow_end arrow)
{
    fd_timeline_event *made = slice_at(w, tid, time, time, arrow);
    made->name = fd_span_text(name);
    made->cat = fd_span_text("\"" FD_TRANSFER_CATEGORY "\"");
}

/* Add a call. The flow to its launched work is a field of its slice. */
static void
put_call(writer *w, uint32_t tid, uint32_t number, uint64_t time)
{
    const fd_trace_event *event = &w->rank->events.list[number];
    uint32_t launched = fd_streams_flow_of_call(&w->streams, number);
    fd_arrow_end launch = {launch_id(w, launched), false};
    fd_arrow_end transfer = fd_transfers_at(&w->transfers, event);
    bool sends = transfer.id != 0 && !transfer.ends;
    put_event(w, tid, event, time, fd_trace_record_id(w->rank, number),
              sends && launch.id == 0 ? transfer : launch);
    put_flows(w, tid, time, number);
    if (sends && launch.id != 0) {
        put_moment(w, tid, time, "\"sent\"", transfer);
    }
}

/* Add the end of the transfer that a job receives. */
static void
put_arrival(writer *w, uint32_t tid, uint32_t number)
{
    const fd_trace_event *event = &w->rank->events.list[number];
    fd_arrow_end end = fd_transfers_at(&w->transfers, event);
    if (end.id != 0 && end.ends) {
        put_moment(w, tid, fd_transfer_arrival(event), "\"received\"", end);
    }
}

static fd_status
calls_part(writer *w)
{
    uint32_t track = thread_track(w, w->thread);
    fd_slice_edge edge;
    while (fd_slices_next(&w->slices, &edge)) {
        uint32_t event = w->event + edge.event;
        w->last = edge.time;
        if (edge.begins) {
            put_call(w, track, event, edge.time);
            if (is_full(w)) {
                return FD_OK;
            }
        }
        else {
            put_arrival(w, track, event);
        }
    }
    put_lost(w, 't', track, w->rank->threads.list[w->thread].events_lost,
             "events", w->last);
    fd_slices_clear(&w->slices);
    w->event += w->count;
    w->part = PART_LAUNCHES;
    return FD_OK;
}

static fd_status
launches_part(writer *w)
{
    uint32_t track = thread_track(w, w->thread);
    const fd_trace_gpu_event *work;
    while ((work = next_launch(w)) != NULL) {
        fd_launch_slice(work, w->batch,
                        slice_at(w, track, work->host, work->host + work->call,
                                 (fd_arrow_end){0}));
        put_correlation(w, track, work->host, work, false);
        w->launch++;
        if (is_full(w)) {
            return FD_OK;
        }
    }
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
    fd_status status = fd_slices_make(
        &w->slices, w->streams.events + track->first, track->count);
    fd_stream_name(track, name);
    put_track(w, stream_track(w), FD_CHROME_TRACK, name);
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
        fd_arrow_end arrow = {launch_id(w, w->streams.flows[event]), true};
        if (edge.begins) {
            put_event(w, stream_track(w), &w->streams.events[event], edge.time,
                      0, arrow);
            put_correlation(w, stream_track(w), edge.time,
                            w->streams.works[event], true);
        }
        if (is_full(w)) {
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
    fd_status status = fd_chrome_members(w->trace, &w->options, w->batch);
    begin_rank(w);
    return status;
}

fd_trace_events *
fd_trace_events_open(const fd_trace *trace, const fd_export_options *options,
                     bool own_times, fd_status *status)
{
    fd_trace_events *events = fd_calloc(1, sizeof *events);
    if (events == NULL) {
        *status = FD_ENOMEM;
        return NULL;
    }
    events->trace = trace;
    events->options = *options;
    events->own_times = own_times;
    *status = fd_slice_names_make(&events->names, trace);
    if (*status != FD_OK) {
        fd_trace_events_close(events);
        return NULL;
    }
    return events;
}

fd_status
fd_trace_events_fill(fd_trace_events *events, fd_event_batch *batch)
{
    static fd_status (*const parts[])(writer * w) = {
        [PART_HEAD] = head_part,         [PART_RANK] = rank_part,
        [PART_COUNTERS] = counters_part, [PART_STEPS] = kind_part,
        [PART_ASYNC] = kind_part,        [PART_THREAD] = thread_part,
        [PART_CALLS] = calls_part,       [PART_LAUNCHES] = launches_part,
        [PART_STREAM] = stream_part,     [PART_INTERVALS] = intervals_part,
    };
    fd_status status = FD_OK;
    events->batch = batch;
    events->enough = (uint32_t)fd_budget(FD_BATCH_EVENTS);
    while (status == FD_OK && batch->status == FD_OK
           && events->part != PART_END
           && (batch->items.count == 0 || events->part == PART_RANK)) {
        status = parts[events->part](events);
    }
    return fd_then(status, batch->status);
}

uint32_t
fd_trace_events_rank(const fd_trace_events *events)
{
    return events->filled;
}

void
fd_trace_events_close(fd_trace_events *events)
{
    if (events != NULL) {
        fd_slice_names_clear(&events->names);
        fd_slices_clear(&events->slices);
        fd_flows_clear(&events->flows);
        fd_chrome_counters_clear(&events->counters);
        fd_streams_clear(&events->streams);
        fd_free(events);
    }
}
