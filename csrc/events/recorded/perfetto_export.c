#include "events/recorded/timeline_exports.h"

#include "base/sums.h"
#include "events/recorded/call_flows.h"
#include "events/recorded/gpu_tracks.h"
#include "events/recorded/perfetto_fields.h"
#include "events/recorded/perfetto_tracks.h"
#include "events/recorded/pipeline_flows.h"
#include "events/recorded/slice_names.h"
#include "profile/call_slices.h"
#include "streams/protobuf.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* Sequence ids that are unique among the ranks of a run, also in different
 * files. Every packet has one, so frequent ones are small numbers. */
enum {
    IDS_PER_RANK = 1 << 17,
    FIRST_LANE = 1 << 16,
    FIRST_STREAM = FIRST_LANE + (1 << 15),
    FIRST_COUNTER = FIRST_STREAM + (1 << 14),
    COUNTERS = (1 << 14) - 2,
    SHORT_SEQUENCES = 16, /* per rank */
    FIRST_LONG_SEQUENCE = 1 << 28
};

typedef struct writer {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    fd_slice_names names;
    bool *named;        /* owned; by name: already interned on this sequence */
    bool *categorised;  /* owned; by category: already interned on this
                         * sequence */
    fd_streams streams; /* of the current rank */
    uint32_t ids;       /* first track number of the current rank */
    const fd_export_options *options;
    fd_perfetto_clock clock;   /* times since the start of the rank */
    bool on_stream;            /* the current slices are on a stream, not on a
                                * thread */
    fd_flows flows;            /* owned; of the current rank */
    fd_transfers transfers;    /* owned; of all ranks */
    fd_native_packets packets; /* of the current sequence */
} writer;

/* Begin a sequence, with its own texts, clock and track. */
static void
begin_sequence(writer *w, uint32_t number, uint32_t track)
{
    uint32_t sequence = number < SHORT_SEQUENCES
                          ? w->rank->rank * SHORT_SEQUENCES + number + 1
                          : FIRST_LONG_SEQUENCE + track;
    memset(w->named, 0, w->names.names.texts.count + 1);
    memset(w->categorised, 0, w->names.categories.texts.count + 1);
    fd_native_begin(&w->packets, sequence, track);
    fd_native_begin_clock(&w->packets, &w->clock, 0);
}

static uint32_t
process_track(const writer *w)
{
    return w->ids + IDS_PER_RANK;
}

static uint32_t
thread_track(const writer *w, uint32_t thread)
{
    return w->ids + thread + 1;
}

static fd_span
part(const fd_buffer *text, size_t from, size_t to)
{
    return text->status == FD_OK
             ? (fd_span){text->bytes + from, text->bytes + to}
             : (fd_span){"", ""};
}

static void
write_process(writer *w)
{
    fd_buffer text = {.bytes = NULL};
    fd_rank_label(w->trace, w->rank, &text);
    size_t name = text.size;
    fd_buffer_format(&text, "pid %u", w->rank->pid);
    size_t label = text.size;
    if (w->options->clocks != NULL) {
        fd_export_clock_label(
            &w->options->clocks[w->rank - w->trace->ranks.list], &text);
    }
    const fd_native_process process = {
        .track = process_track(w),
        .pid = w->rank->rank + 1,
        .sort_index = w->rank->rank,
        .name = part(&text, 0, name),
        .labels = {part(&text, name, label), part(&text, label, text.size)}};
    fd_native_put_process(&w->packets, &process);
    fd_buffer *to = w->packets.to;
    to->status = text.status != FD_OK ? text.status : to->status;
    fd_buffer_clear(&text);
}

static void
write_thread_track(writer *w, uint32_t thread)
{
    const char *role =
        fd_trace_text(w->trace, w->rank->threads.list[thread].role);
    const fd_native_thread put = {.track = thread_track(w, thread),
                                  .pid = w->rank->rank + 1,
                                  .tid = thread_track(w, thread),
                                  .sorted = true,
                                  .sort_index = thread,
                                  .name = {role, role + strlen(role)}};
    fd_native_put_thread(&w->packets, &put);
}

/* Intern a text in the packet of the first slice that uses it. */
static void
intern(writer *w, uint32_t id, bool *seen, const fd_text_pool *texts,
       uint32_t field)
{
    if (!seen[id]) {
        const char *text = fd_text_pool_get(texts, id);
        seen[id] = true;
        fd_native_intern(&w->packets, field, id,
                         (fd_span){text, text + strlen(text)});
    }
}

static void
put_note(writer *w, uint32_t field, uint64_t value, const char *name)
{
    fd_proto_number(&w->packets.inner, field, value);
    fd_proto_text(&w->packets.inner, FD_PB_NOTE_NAME, name);
    fd_proto_message(&w->packets.body, FD_PB_EVENT_NOTE, &w->packets.inner);
}

/* Write the start of a job. There are few jobs, so the text is not interned.
 * The caller has put the flows into the body. */
static void
write_job(writer *w, const fd_trace_event *event, int64_t time)
{
    const fd_trace_job *job = &w->rank->jobs.list[event->context];
    fd_buffer *body = &w->packets.body;
    fd_job_number numbers[FD_JOB_NUMBERS];
    int count = fd_job_numbers(job, numbers);
    fd_buffer name = {.bytes = NULL};
    fd_job_name(w->trace, job, &name);
    fd_proto_text(body, FD_PB_EVENT_CATEGORY,
                  w->on_stream ? FD_JOB_ON_STREAM : FD_JOB_CATEGORY);
    fd_proto_message(body, FD_PB_EVENT_NAME, &name);
    for (int i = 0; i < count; i++) {
        put_note(w, FD_PB_NOTE_UINT, numbers[i].value, numbers[i].name);
    }
    if (job->open) {
        put_note(w, FD_PB_NOTE_BOOL, 1, "open");
    }
    fd_native_put_body(&w->packets, FD_PB_TYPE_BEGIN, time);
    fd_buffer_clear(&name);
}

/* Add a flow to the body of the next event. */
static void
write_flow(writer *w, uint32_t field, uint64_t id)
{
    fd_proto_fixed(&w->packets.body, field, &id);
}

static fd_arrow_end
transfer_of(const writer *w, const fd_trace_event *event)
{
    return fd_transfers_at(&w->transfers,
                           (uint32_t)(w->rank - w->trace->ranks.list), event);
}

static void
write_flows(writer *w, uint32_t event)
{
    uint32_t rank = w->rank->rank;
    uint32_t flow;
    uint32_t last = fd_flows_from(&w->flows, event, &flow);
    for (; flow < last; flow++) {
        write_flow(w, FD_PB_EVENT_FLOWS, fd_flow_id(rank, flow));
    }
    uint32_t into = fd_flows_to(&w->flows, event);
    if (into != 0) {
        write_flow(w, FD_PB_EVENT_LAST_FLOWS, fd_flow_id(rank, into - 1));
    }
    uint32_t launch = fd_streams_flow_of_call(&w->streams, event);
    if (launch != 0 && !w->options->no_flows) {
        write_flow(w, FD_PB_EVENT_FLOWS, fd_launch_id(rank, launch));
    }
    fd_arrow_end sent = transfer_of(w, &w->rank->events.list[event]);
    if (sent.id != 0 && !sent.ends) {
        write_flow(w, FD_PB_EVENT_FLOWS, sent.id);
    }
}

static void
write_begin(writer *w, const fd_trace_event *event, int64_t time)
{
    uint8_t body[48];
    fd_native_packets *p = &w->packets;
    fd_slice_name name = w->names.of_context[event->context];
    uint8_t *end =
        fd_proto_put_field(body, FD_PB_EVENT_CATEGORY_IID, name.category);
    end = fd_proto_put_field(end, FD_PB_EVENT_NAME_IID, name.name);
    intern(w, name.category, w->categorised, &w->names.categories,
           FD_PB_INTERNED_CATEGORY);
    intern(w, name.name, w->named, &w->names.names, FD_PB_INTERNED_NAME);
    if (event->kind == FD_EVENT_OPEN) { /* the call has not ended */
        put_note(w, FD_PB_NOTE_BOOL, 1, "open");
    }
    if (p->body.size == 0) {
        fd_native_put_event(p, FD_PB_TYPE_BEGIN, 0, time, body,
                            (size_t)(end - body));
        return;
    }
    fd_buffer_bytes(&p->body, body, (size_t)(end - body));
    fd_native_put_body(p, FD_PB_TYPE_BEGIN, time);
}

static void
write_edge(writer *w, const fd_trace_event *event, uint64_t time, bool begins)
{
    if (!begins) {
        fd_native_put_event(&w->packets, FD_PB_TYPE_END, 0, (int64_t)time,
                            NULL, 0);
    }
    else if (event->kind == FD_EVENT_JOB) {
        write_job(w, event, (int64_t)time);
    }
    else {
        write_begin(w, event, (int64_t)time);
    }
}

static void
write_lost(writer *w, uint64_t lost, const char *what, uint64_t time)
{
    if (lost > 0) {
        char text[96];
        snprintf(text, sizeof text, "%llu %s found no room in the timeline",
                 (unsigned long long)lost, what);
        fd_proto_text(&w->packets.body, FD_PB_EVENT_NAME, text);
        fd_native_put_body(&w->packets, FD_PB_TYPE_INSTANT, (int64_t)time);
    }
}

/* Write the end of the transfer that a job receives, as an instant. */
static void
write_arrival(writer *w, const fd_trace_event *event)
{
    fd_arrow_end end = transfer_of(w, event);
    if (end.id == 0 || !end.ends) {
        return;
    }
    fd_buffer *body = &w->packets.body;
    fd_proto_text(body, FD_PB_EVENT_CATEGORY, FD_TRANSFER_CATEGORY);
    fd_proto_text(body, FD_PB_EVENT_NAME, "received");
    write_flow(w, FD_PB_EVENT_LAST_FLOWS, end.id);
    fd_native_put_body(&w->packets, FD_PB_TYPE_INSTANT,
                       (int64_t)fd_transfer_arrival(event));
}

static fd_status
write_thread(writer *w, uint32_t thread, const fd_trace_event *events,
             uint32_t count)
{
    fd_slices slices;
    fd_slice_edge edge;
    uint64_t last = 0;
    fd_status status = fd_slices_make(&slices, events, count);
    if (status != FD_OK) {
        return status;
    }
    begin_sequence(w, thread + 1, thread_track(w, thread));
    write_thread_track(w, thread);
    while (fd_slices_next(&slices, &edge)) {
        const fd_trace_event *event = &events[edge.event];
        uint32_t index = (uint32_t)(event - w->rank->events.list);
        if (edge.begins) {
            write_flows(w, index);
        }
        else {
            write_arrival(w, event);
        }
        write_edge(w, event, edge.time, edge.begins);
        last = edge.time;
    }
    write_lost(w, w->rank->threads.list[thread].events_lost, "events", last);
    fd_slices_clear(&slices);
    return FD_OK;
}

static fd_status
write_stream(writer *w, uint32_t number)
{
    const fd_streams *streams = &w->streams;
    const fd_stream_track *of = &streams->tracks.list[number];
    const fd_trace_event *events = streams->events + of->first;
    uint32_t track = w->ids + FIRST_STREAM + number;
    char name[FD_STREAM_NAME];
    fd_slices slices;
    fd_slice_edge edge;
    fd_status status = fd_slices_make(&slices, events, of->count);
    if (status != FD_OK) {
        return status;
    }
    fd_stream_name(of, name);
    begin_sequence(w, w->rank->threads.count + 1 + number, track);
    fd_native_put_track(&w->packets, track, process_track(w), name, false);
    while (fd_slices_next(&slices, &edge)) {
        uint32_t flow = streams->flows[of->first + edge.event];
        if (edge.begins && flow != 0 && !w->options->no_flows) {
            write_flow(w, FD_PB_EVENT_LAST_FLOWS,
                       fd_launch_id(w->rank->rank, flow));
        }
        write_edge(w, &events[edge.event], edge.time, edge.begins);
    }
    fd_slices_clear(&slices);
    return FD_OK;
}

/* Set the clock of the trace to that of the first rank. */
static void
set_clock(writer *w)
{
    const fd_export_options *options = w->options;
    const fd_trace_rank *first = &w->trace->ranks.list[0];
    uint32_t index = (uint32_t)(w->rank - first);
    const fd_clock_map zero = fd_export_clock_of(w->trace, options, 0);
    int64_t boot = (int64_t)first->start.boottime_ns;
    int64_t real = (int64_t)first->start.realtime_ns;
    int64_t off = FD_CLOCK_UNKNOWN;
    if (options->clocks != NULL) {
        real = options->clocks_base_ns + fd_clock_apply(&zero, 0);
        off = options->clocks[index].uncertainty_ns;
    }
    w->clock = (fd_perfetto_clock){
        .map = fd_export_clock_of(w->trace, options, index),
        .step_ns = fd_perfetto_step(off),
        .has_base = true,
        .base_ns = fd_minus(real, boot)};
    w->clock.map.offset_ns = fd_plus(w->clock.map.offset_ns,
                                     fd_minus(boot, fd_clock_apply(&zero, 0)));
}

static fd_status
write_rank(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    uint32_t count = w->rank->events.count;
    w->ids = w->rank->rank * (IDS_PER_RANK + 1);
    set_clock(w);
    begin_sequence(w, 0, process_track(w));
    write_process(w);
    write_lost(w, w->rank->counters[FD_COUNT_GPU_EVENTS_LOST], "GPU intervals",
               0);
    const fd_perfetto_tracks tracks = {.trace = w->trace,
                                       .rank = w->rank,
                                       .names = &w->names,
                                       .clock = &w->clock,
                                       .sequences = FIRST_LONG_SEQUENCE,
                                       .parent = process_track(w),
                                       .steps = process_track(w) - 1,
                                       .phases = process_track(w) - 2,
                                       .lanes = w->ids + FIRST_LANE,
                                       .first = w->ids + FIRST_COUNTER,
                                       .capacity = COUNTERS};
    fd_status status = fd_perfetto_tracks_write(&tracks, w->packets.to);
    if (status == FD_OK) {
        status = fd_streams_make(&w->streams, w->rank);
    }
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        next = fd_events_of_thread(events, count, i);
        status = write_thread(w, events[i].thread, events + i, next - i);
    }
    w->on_stream = true;
    for (uint32_t i = 0; i < w->streams.tracks.count && status == FD_OK; i++) {
        status = write_stream(w, i);
    }
    w->on_stream = false;
    fd_streams_clear(&w->streams);
    return status;
}

static void
write_origin(const writer *w)
{
    int only = w->options->rank;
    const fd_trace_rank *first = &w->trace->ranks.list[only < 0 ? 0 : only];
    char text[64];
    snprintf(text, sizeof text, FD_PERFETTO_EXPORT, (unsigned)first->rank,
             (unsigned)first->world);
    fd_perfetto_origin(w->packets.to, text);
}

fd_status
fd_export_perfetto(const fd_trace *trace, const fd_export_options *options,
                   fd_buffer *to, fd_error *error)
{
    writer w = {.trace = trace, .options = options, .packets.to = to};
    fd_status status = fd_timeline_check(trace, options->rank, error);
    if (status == FD_OK) {
        write_origin(&w);
        status = fd_slice_names_make(&w.names, trace);
    }
    if (status == FD_OK) {
        w.named = fd_malloc(w.names.names.texts.count + 1);
        w.categorised = fd_malloc(w.names.categories.texts.count + 1);
        status = w.named != NULL && w.categorised != NULL ? FD_OK : FD_ENOMEM;
    }
    if (status == FD_OK) {
        status = fd_transfers_make(&w.transfers, trace, options);
    }
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        if (options->rank == FD_ALL_RANKS || options->rank == (int)i) {
            w.rank = &trace->ranks.list[i];
            status =
                options->no_flows ? FD_OK : fd_flows_make(&w.flows, w.rank);
            status = status == FD_OK ? write_rank(&w) : status;
            fd_flows_clear(&w.flows);
        }
    }
    fd_slice_names_clear(&w.names);
    fd_transfers_clear(&w.transfers);
    fd_free(w.named);
    fd_free(w.categorised);
    fd_native_packets_clear(&w.packets);
    return status == FD_OK ? to->status : status;
}
