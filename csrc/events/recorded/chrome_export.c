#include "events/recorded/chrome_export.h"

#include "base/budget.h"
#include "base/sums.h"
#include "events/recorded/chrome_head.h"
#include "events/recorded/chrome_tracks.h"
#include "events/recorded/gpu_tracks.h"
#include "events/recorded/job_names.h"
#include "events/recorded/pipeline_flows.h"
#include "events/recorded/slice_names.h"
#include "events/writers/chrome_writer.h"
#include "graphs/graph_text.h"
#include "profile/call_slices.h"
#include "trace/rank_facts.h"

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
    uint32_t at; /* of the ranks */
    int only;    /* this one, or FD_ALL_RANKS */
    chrome_part part;
    uint32_t event;  /* of the rank: where the part is */
    uint32_t thread; /* of the rank, whose events begin there */
    uint32_t count;  /* of them */
    fd_slices slices;
    fd_streams streams; /* of the rank; `thread` is the place in them */
    uint64_t last;      /* ns: its latest edge */
    fd_slice_names names;
    fd_buffer *json;            /* owned; every name */
    fd_buffer *json_categories; /* the same */
    fd_export_options options;
    fd_clock_map clock;     /* from times of the rank to those of the file */
    fd_flows flows;         /* of the rank */
    fd_transfers transfers; /* of all */
    bool first;
    fd_buffer scratch;
    fd_buffer *to; /* borrowed while a piece is written */
    size_t enough; /* its size then */
};

typedef struct fd_chrome writer;

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
write_track(writer *w, uint32_t tid, const char *name)
{
    next_event(w);
    fd_chrome_row(w->to, w->rank, "thread", tid, name, strlen(name));
    fd_chrome_place(w->to, w->rank, "thread", tid, tid);
}

/* Up to the name. Some arrows are tied to their slices by these' own fields: of
 * slices that begin at one time readers give an event's to the innermost. */
static void
begin_slice(writer *w, uint32_t tid, uint64_t start, uint64_t end,
            fd_arrow_end tie)
{
    next_event(w);
    fd_buffer_text(w->to, "{\"ph\":\"X\",\"pid\":");
    fd_buffer_u64(w->to, (uint64_t)w->rank->rank + 1);
    fd_buffer_text(w->to, ",\"tid\":");
    fd_buffer_u64(w->to, tid);
    fd_buffer_text(w->to, ",\"ts\":");
    fd_chrome_us(w->to, shown(w, start));
    fd_buffer_text(w->to, ",\"dur\":");
    fd_chrome_us(w->to, fd_minus(shown(w, end), shown(w, start)));
    if (tie.id != 0) {
        fd_buffer_format(w->to, ",\"bind_id\":\"0x%llx\",\"%s\":true",
                         (unsigned long long)tie.id,
                         tie.ends ? "flow_in" : "flow_out");
    }
    fd_buffer_text(w->to, ",\"name\":");
}

/* Up to its arguments. */
static void
write_slice(writer *w, uint32_t tid, const char *name, size_t size,
            const char *category, uint64_t start, uint64_t end,
            fd_arrow_end tie)
{
    begin_slice(w, tid, start, end, tie);
    fd_buffer_text(w->to, "\"");
    fd_buffer_bytes(w->to, name, size);
    if (w->options.durations == FD_DURATIONS_NAME) {
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
          fd_arrow_end tie)
{
    bool on_stream = w->part == PART_INTERVALS;
    const fd_trace_job *job = &w->rank->jobs.list[event->context];
    fd_job_number numbers[FD_JOB_NUMBERS];
    int count = fd_job_numbers(job, numbers);
    w->scratch.size = 0;
    fd_job_name(w->trace, job, &w->scratch);
    if (w->options.durations != FD_DURATIONS_ARGS) {
        fd_job_duration(event->duration, &w->scratch);
    }
    begin_slice(w, tid, start, event->start + event->duration, tie);
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
            uint64_t start, uint64_t record_id, fd_arrow_end tie)
{
    if (event->kind == FD_EVENT_JOB) {
        write_job(w, tid, event, start, tie);
        return;
    }
    fd_slice_name name = w->names.of_context[event->context];
    write_slice(w, tid, w->json[name.name].bytes, w->json[name.name].size,
                w->json_categories[name.category].bytes, start,
                event->start + event->duration, tie);
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
        fd_chrome_us(w->to,
                     shown(w, event->start + (end ? event->duration : 0)));
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
                event->start + event->duration, (fd_arrow_end){0});
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

static fd_status
rank_part(writer *w)
{
    fd_buffer label = {.bytes = NULL};
    w->clock = fd_export_clock_of(w->trace, &w->options, w->at);
    fd_rank_label(w->trace, w->rank, &label);
    next_event(w);
    fd_chrome_row(w->to, w->rank, "process", 0, label.bytes, label.size);
    fd_chrome_place(w->to, w->rank, "process", 0, w->rank->rank);
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
    if (status == FD_OK && !w->options.no_flows) {
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
    bool has_any =
        w->event < rank->events.count && events->thread == w->thread;
    uint32_t end = has_any ? fd_events_of_thread(rank->events.list,
                                                 rank->events.count, w->event)
                           : w->event;
    uint32_t count = end - w->event;
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

static uint64_t
launch_id(const writer *w, uint32_t number)
{
    return number == 0 || w->options.no_flows
             ? 0
             : fd_launch_id(w->rank->rank, number);
}

/* An end of the arrow of a transfer, as a slice of no length. */
static void
write_moment(writer *w, uint32_t tid, uint64_t time, const char *name,
             fd_arrow_end tie)
{
    begin_slice(w, tid, time, time, tie);
    fd_buffer_format(w->to, "\"%s\",\"cat\":\"" FD_TRANSFER_CATEGORY "\"}",
                     name);
}

/* A slice has one tie: what sends and launches is tied to what it launched. */
static void
write_call(writer *w, uint32_t tid, uint32_t number, uint64_t time)
{
    const fd_trace_event *event = &w->rank->events.list[number];
    uint32_t launched = fd_streams_flow_of_call(&w->streams, number);
    fd_arrow_end launch = {launch_id(w, launched), false};
    fd_arrow_end transfer = fd_transfers_at(&w->transfers, w->at, event);
    bool sends = transfer.id != 0 && !transfer.ends;
    write_event(w, tid, event, time, fd_trace_record_id(w->rank, number),
                sends && launch.id == 0 ? transfer : launch);
    write_flows(w, tid, time, number);
    if (sends && launch.id != 0) {
        write_moment(w, tid, time, "sent", transfer);
    }
}

/* Where a job ends. */
static void
write_arrival(writer *w, uint32_t tid, uint32_t number)
{
    const fd_trace_event *event = &w->rank->events.list[number];
    fd_arrow_end end = fd_transfers_at(&w->transfers, w->at, event);
    if (end.id != 0 && end.ends) {
        write_moment(w, tid, fd_transfer_arrival(event), "received", end);
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
            write_call(w, track, event, edge.time);
            if (w->to->size >= w->enough) {
                return FD_OK;
            }
        }
        else {
            write_arrival(w, track, event);
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
    fd_status status = fd_slices_make(
        &w->slices, w->streams.events + track->first, track->count);
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
        fd_arrow_end tie = {launch_id(w, w->streams.flows[event]), true};
        if (edge.begins) {
            write_event(w, stream_track(w), &w->streams.events[event],
                        edge.time, 0, tie);
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
    *status = fd_slice_names_make(&chrome->names, trace);
    if (*status == FD_OK) {
        *status = fd_slice_texts_json(&chrome->names.names, &chrome->json);
    }
    if (*status == FD_OK) {
        *status = fd_slice_texts_json(&chrome->names.categories,
                                      &chrome->json_categories);
    }
    if (*status == FD_OK) {
        *status = fd_transfers_make(&chrome->transfers, trace, options);
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
    static fd_status (*const parts[])(writer * w) = {
        [PART_HEAD] = head_part,     [PART_RANK] = rank_part,
        [PART_STEPS] = steps_part,   [PART_ASYNC] = async_part,
        [PART_THREAD] = thread_part, [PART_CALLS] = calls_part,
        [PART_STREAM] = stream_part, [PART_INTERVALS] = intervals_part,
        [PART_FOOT] = foot_part,
    };
    size_t before = to->size;
    fd_status status = FD_OK;
    chrome->to = to;
    chrome->enough = before + fd_budget(PIECE);
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
        fd_slice_texts_free(&chrome->names.categories,
                            chrome->json_categories);
        fd_slice_names_clear(&chrome->names);
        fd_slices_clear(&chrome->slices);
        fd_buffer_clear(&chrome->scratch);
        fd_flows_clear(&chrome->flows);
        fd_transfers_clear(&chrome->transfers);
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
    fd_chrome *chrome =
        status == FD_OK ? fd_chrome_open(trace, options, &status) : NULL;
    do {
        before = to->size;
        status = status == FD_OK ? fd_chrome_next(chrome, to) : status;
    } while (status == FD_OK && to->size > before);
    fd_chrome_close(chrome);
    return status;
}
