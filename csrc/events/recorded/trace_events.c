#include "events/recorded/trace_events.h"

#include "base/budget.h"
#include "events/recorded/call_flows.h"
#include "events/recorded/chrome_head.h"
#include "events/recorded/chrome_tracks.h"
#include "events/recorded/gpu_tracks.h"
#include "events/recorded/slice_names.h"
#include "profile/call_slices.h"
#include "trace/trace.h"

#include <stdio.h>

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
    fd_chrome_tracks tracks; /* of the current rank */
    uint32_t at;             /* index of the current rank */
    uint32_t filled;         /* index of the rank of the last batch */
    chrome_part part;
    uint32_t event;  /* first event of the current part, of the rank */
    uint32_t thread; /* current thread; its events start at `event` */
    uint32_t count;  /* number of its events */
    fd_slices slices;
    fd_arena arena;
    fd_arena *of_rank;  /* the memory of the next four */
    fd_streams streams; /* of the rank; `thread` is then an index of a
                         * stream */
    fd_flows flows;
    fd_chrome_counters counters;
    fd_transfers transfers;
    uint32_t launch; /* next call of CUDA */
    uint64_t last;   /* ns: time of the latest start or end */
    fd_slice_names names;
    fd_export_options options;
    bool own_times;
    bool any_step;
    uint32_t enough; /* number of events at which a batch is full */
};

typedef struct fd_trace_events writer;

static uint32_t
steps_track(const writer *w)
{
    return (w->tracks.rank->rank + 1) * IDS_PER_RANK;
}

static uint32_t
thread_track(const writer *w, uint32_t thread)
{
    return steps_track(w) + 1 + thread;
}

static void
put_track(writer *w, uint32_t tid, fd_chrome_kind kind, const char *name)
{
    fd_chrome_rows(&w->tracks, kind, tid, fd_span_text(name), tid);
}

/* Add a slice with a flow as its field, if any: viewers attach a separate flow
 * event to the innermost of the slices that begin at the same time. */
static fd_timeline_event *
slice_at(writer *w, uint32_t tid, uint64_t start, uint64_t end,
         fd_arrow_end arrow)
{
    fd_timeline_event *event = fd_chrome_slice(&w->tracks, tid, start, end);
    if (arrow.id != 0) {
        event->bind_id = fd_batch_id(w->tracks.batch, arrow.id);
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
             ? fd_slice_timed(name, duration, w->tracks.batch)
             : name;
}

static void
put_event(writer *w, uint32_t tid, const fd_trace_event *event, uint64_t start,
          uint64_t record_id, fd_arrow_end arrow)
{
    fd_event_batch *batch = w->tracks.batch;
    uint64_t end = event->start + event->duration;
    bool interval = w->part == PART_INTERVALS;
    fd_timeline_event *made = slice_at(w, tid, start, end, arrow);
    if (event->kind == FD_EVENT_JOB) {
        bool named = w->options.durations != FD_DURATIONS_ARGS;
        fd_job_slice(w->tracks.trace,
                     &w->tracks.rank->jobs.list[event->context],
                     named ? event->duration : UINT64_MAX, batch, made);
        made->cat = fd_span_text(interval ? "\"" FD_JOB_ON_STREAM "\""
                                          : "\"" FD_JOB_CATEGORY "\"");
        return;
    }
    fd_slice_name name = w->names.of_context[event->context];
    made->name = timed_name(w, fd_text_pool_span(&w->names.names, name.name),
                            end - start);
    made->name_id = w->options.durations == FD_DURATIONS_NAME ? 0 : name.name;
    made->cat = fd_text_pool_span(&w->names.categories, name.category);
    made->cat_id = name.category;
    if (event->kind == FD_EVENT_OPEN) {
        made->args = fd_span_text("{\"open\":true}");
    }
    else if (record_id != 0) {
        made->args =
            fd_batch_number_object(batch, "Record function id", record_id);
    }
    else if (interval) {
        made->args = fd_stream_arguments(
            w->streams.works[event - w->streams.events], batch);
    }
}

/* Add one end of a flow, with a name that PyTorch uses. */
static void
put_flow(writer *w, uint32_t tid, uint64_t time, const char *name,
         fd_arrow_end end)
{
    fd_timeline_event *made =
        fd_chrome_event(&w->tracks, end.ends ? 'f' : 's', tid, time);
    made->encloses = end.ends;
    made->name = made->cat = fd_span_text(name);
    made->id = fd_batch_number(w->tracks.batch, end.id);
}

/* Add the flows of calls of a slice. */
static void
put_flows(writer *w, uint32_t tid, uint64_t time, uint32_t event)
{
    static const char name[] = "\"fwdbwd\"";
    uint32_t rank = w->tracks.rank->rank;
    uint32_t flow;
    uint32_t end = fd_flows_from(&w->flows, event, &flow);
    for (; flow < end; flow++) {
        put_flow(w, tid, time, name,
                 (fd_arrow_end){fd_flow_id(rank, flow), false});
    }
    uint32_t into = fd_flows_to(&w->flows, event);
    if (into != 0) {
        put_flow(w, tid, time, name,
                 (fd_arrow_end){fd_flow_id(rank, into - 1), true});
    }
}

/* Add one end of the flow from a call of CUDA. */
static void
put_correlation(writer *w, uint32_t tid, uint64_t time,
                const fd_trace_gpu_event *work, bool ends)
{
    if (work->function != 0 && !w->options.no_flows) {
        uint64_t id =
            fd_correlation_id(w->tracks.rank->rank, work->correlation);
        put_flow(w, tid, time, "\"ac2g\"", (fd_arrow_end){id, ends});
    }
}

/* Add the number of lost events, on a track ('t') or the process ('p'). */
static void
put_lost(writer *w, char scope, uint32_t tid, uint64_t lost, const char *what,
         uint64_t time)
{
    if (lost > 0) {
        fd_timeline_event *made = fd_chrome_event(&w->tracks, 'i', tid, time);
        made->scope = scope;
        made->name = fd_batch_format(
            w->tracks.batch, "\"%llu %s found no room in the timeline\"",
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
        fd_timeline_event *made = fd_chrome_event(
            &w->tracks, end ? 'e' : 'b', thread_track(w, event->thread),
            event->start + (end ? event->duration : 0));
        made->local_id = fd_batch_id(w->tracks.batch, number);
        made->name = fd_text_pool_span(&w->names.names, name.name);
        made->cat = fd_span_text("\"async\"");
    }
}

static void
put_step(writer *w, const fd_trace_event *event)
{
    uint32_t track = steps_track(w);
    if (!w->any_step) {
        put_track(w, track, FD_CHROME_TRACK, "Steps");
        w->any_step = true;
    }
    fd_timeline_event *made = fd_chrome_slice(&w->tracks, track, event->start,
                                              event->start + event->duration);
    made->name = timed_name(
        w, fd_batch_format(w->tracks.batch, "\"step %u\"", event->context),
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
    uint32_t count = w->tracks.trace->ranks.count;
    while (w->at < count && w->options.rank != FD_ALL_RANKS
           && w->options.rank != (int)w->at) {
        w->at++;
    }
    begin_part(w, w->at < count ? PART_RANK : PART_END);
}

static void
head_part(writer *w)
{
    fd_slice_names_make(&w->names, w->tracks.trace, &w->arena);
    fd_chrome_members(w->tracks.trace, &w->options, w->tracks.batch);
    begin_rank(w);
}

static void
rank_part(writer *w)
{
    const fd_trace *trace = w->tracks.trace;
    const fd_trace_rank *rank = &trace->ranks.list[w->at];
    fd_arena_drop(w->of_rank);
    w->of_rank = NULL;
    fd_arena *arena = w->of_rank = fd_arena_part(&w->arena);
    w->filled = w->at;
    w->tracks.rank = rank;
    w->tracks.clock = w->own_times
                        ? (fd_clock_map){.offset_ns = 0}
                        : fd_export_clock_of(trace, &w->options, w->at);
    w->tracks.phases = steps_track(w) + FIRST_STREAM - 1;
    w->tracks.sort_index = steps_track(w);
    fd_buffer *label = fd_arena_buffer(arena);
    fd_rank_label(trace, rank, label);
    fd_arena_check(arena, label->status);
    fd_chrome_rows(&w->tracks, FD_CHROME_PROCESS, 0, fd_span_of(label),
                   rank->rank);
    put_lost(w, 'p', steps_track(w), rank->counters[FD_COUNT_GPU_EVENTS_LOST],
             "GPU intervals", 0);
    fd_chrome_phases(&w->tracks);
    w->counters = fd_chrome_counters_make(rank, arena);
    w->flows = w->options.no_flows ? (fd_flows){.first = NULL}
                                   : fd_flows_make(rank, arena);
    w->transfers = w->options.transfers != NULL ? w->options.transfers[w->at]
                                                : (fd_transfers){NULL, 0};
    fd_streams_make(&w->streams, rank, arena);
    w->launch = 0;
    w->any_step = false;
    begin_part(w, PART_COUNTERS);
}

static void
counters_part(writer *w)
{
    if (!fd_chrome_counters_next(&w->counters, &w->tracks)) {
        begin_part(w, PART_STEPS);
    }
}

/* Add the next step, or the next asynchronous event, of the rank. */
static void
kind_part(writer *w)
{
    uint8_t kind = w->part == PART_STEPS ? FD_EVENT_STEP : FD_EVENT_ASYNC;
    const fd_trace_rank *rank = w->tracks.rank;
    while (w->event < rank->events.count
           && rank->events.list[w->event].kind != kind) {
        w->event++;
    }
    if (w->event == rank->events.count) {
        begin_part(w, w->part + 1);
        return;
    }
    const fd_trace_event *event = &rank->events.list[w->event];
    if (kind == FD_EVENT_STEP) {
        put_step(w, event);
    }
    else {
        put_async(w, event, w->event);
    }
    w->event++;
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
static void
thread_part(writer *w)
{
    const fd_trace_rank *rank = w->tracks.rank;
    if (w->thread == rank->threads.count) {
        begin_part(w, PART_STREAM);
        return;
    }
    const fd_trace_thread *thread = &rank->threads.list[w->thread];
    const fd_trace_event *events = rank->events.list + w->event;
    bool has_any =
        w->event < rank->events.count && events->thread == w->thread;
    uint32_t end = has_any ? fd_events_of_thread(rank->events.list,
                                                 rank->events.count, w->event)
                           : w->event;
    w->count = end - w->event;
    if (w->count == 0 && thread->events_lost == 0 && next_launch(w) == NULL) {
        w->thread++;
        return;
    }
    fd_arena_check(&w->arena, fd_slices_make(&w->slices, events, w->count));
    put_track(w, thread_track(w, w->thread), FD_CHROME_THREAD,
              fd_trace_text(w->tracks.trace, thread->role));
    w->last = 0;
    w->part = PART_CALLS;
}

static uint64_t
launch_id(const writer *w, uint32_t number)
{
    return number != 0 && !w->options.no_flows
             ? fd_launch_id(w->tracks.rank->rank, number)
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
    const fd_trace_rank *rank = w->tracks.rank;
    const fd_trace_event *event = &rank->events.list[number];
    uint32_t launched = fd_streams_flow_of_call(&w->streams, number);
    fd_arrow_end launch = {launch_id(w, launched), false};
    fd_arrow_end transfer = fd_transfers_at(&w->transfers, event);
    bool sends = transfer.id != 0 && !transfer.ends;
    put_event(w, tid, event, time, fd_trace_record_id(rank, number),
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
    const fd_trace_event *event = &w->tracks.rank->events.list[number];
    fd_arrow_end end = fd_transfers_at(&w->transfers, event);
    if (end.id != 0 && end.ends) {
        put_moment(w, tid, fd_transfer_arrival(event), "\"received\"", end);
    }
}

static void
end_calls(writer *w)
{
    put_lost(w, 't', thread_track(w, w->thread),
             w->tracks.rank->threads.list[w->thread].events_lost, "events",
             w->last);
    fd_slices_clear(&w->slices);
    w->event += w->count;
    w->part = PART_LAUNCHES;
}

/* Add the calls of the thread until the batch is full. */
static void
calls_part(writer *w)
{
    uint32_t track = thread_track(w, w->thread);
    fd_slice_edge edge;
    while (w->tracks.batch->items.count < w->enough) {
        if (!fd_slices_next(&w->slices, &edge)) {
            end_calls(w);
            return;
        }
        w->last = edge.time;
        if (edge.begins) {
            put_call(w, track, w->event + edge.event, edge.time);
        }
        else {
            put_arrival(w, track, w->event + edge.event);
        }
    }
}

static void
launches_part(writer *w)
{
    uint32_t track = thread_track(w, w->thread);
    const fd_trace_gpu_event *work = next_launch(w);
    if (work == NULL) {
        w->thread++;
        w->part = PART_THREAD;
        return;
    }
    fd_launch_slice(work, w->tracks.batch,
                    fd_chrome_slice(&w->tracks, track, work->host,
                                    work->host + work->call));
    put_correlation(w, track, work->host, work, false);
    w->launch++;
}

static uint32_t
stream_track(const writer *w)
{
    return steps_track(w) + FIRST_STREAM + w->thread;
}

static void
stream_part(writer *w)
{
    char name[48];
    if (w->thread == w->streams.tracks.count) {
        w->at++;
        begin_rank(w);
        return;
    }
    const fd_stream_track *track = &w->streams.tracks.list[w->thread];
    fd_arena_check(&w->arena,
                   fd_slices_make(&w->slices, w->streams.events + track->first,
                                  track->count));
    snprintf(name, sizeof name, "GPU %u stream %u", track->device,
             track->stream);
    put_track(w, stream_track(w), FD_CHROME_TRACK, name);
    w->part = PART_INTERVALS;
}

static void
intervals_part(writer *w)
{
    fd_slice_edge edge;
    if (!fd_slices_next(&w->slices, &edge)) {
        fd_slices_clear(&w->slices);
        w->thread++;
        w->part = PART_STREAM;
    }
    else if (edge.begins) {
        uint32_t event = w->streams.tracks.list[w->thread].first + edge.event;
        fd_arrow_end arrow = {launch_id(w, w->streams.flows[event]), true};
        put_event(w, stream_track(w), &w->streams.events[event], edge.time, 0,
                  arrow);
        put_correlation(w, stream_track(w), edge.time, w->streams.works[event],
                        true);
    }
}

fd_trace_events *
fd_trace_events_open(const fd_trace *trace, const fd_export_options *options,
                     bool own_times)
{
    fd_trace_events *events = fd_calloc(1, sizeof *events);
    if (events != NULL) {
        events->tracks.trace = trace;
        events->options = *options;
        events->own_times = own_times;
    }
    return events;
}

fd_status
fd_trace_events_fill(fd_trace_events *w, fd_event_batch *batch)
{
    static void (*const parts[])(writer * w) = {
        [PART_HEAD] = head_part,         [PART_RANK] = rank_part,
        [PART_COUNTERS] = counters_part, [PART_STEPS] = kind_part,
        [PART_ASYNC] = kind_part,        [PART_THREAD] = thread_part,
        [PART_CALLS] = calls_part,       [PART_LAUNCHES] = launches_part,
        [PART_STREAM] = stream_part,     [PART_INTERVALS] = intervals_part,
    };
    w->tracks.batch = batch;
    w->enough = (uint32_t)fd_budget(FD_BATCH_EVENTS);
    if (fd_arena_caught(&w->arena, NULL)) {
        return w->arena.status;
    }
    for (chrome_part last = PART_END;
         w->part != PART_END
         && (batch->items.count == 0 || w->part == PART_RANK
             || (w->part == last && batch->items.count < w->enough));) {
        last = w->part;
        parts[last](w);
        fd_arena_check(&w->arena, batch->status);
    }
    return fd_arena_left(&w->arena);
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
        fd_arena_clear(&events->arena);
        fd_free(events);
    }
}
