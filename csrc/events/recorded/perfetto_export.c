#include "events/recorded/perfetto_export.h"

#include "base/sums.h"
#include "events/recorded/call_flows.h"
#include "events/recorded/gpu_tracks.h"
#include "events/recorded/job_names.h"
#include "events/recorded/perfetto_fields.h"
#include "events/recorded/perfetto_preamble.h"
#include "events/recorded/perfetto_tracks.h"
#include "events/recorded/pipeline_flows.h"
#include "events/recorded/slice_names.h"
#include "profile/call_slices.h"
#include "streams/protobuf.h"
#include "trace/rank_facts.h"

#include <stdio.h>

/* Ids that no two ranks of a run share, whichever files they are in. Those of
 * sequences are in every packet, so the usual ones are short. */
enum {
    IDS_PER_RANK = 1 << 17,
    FIRST_LANE = 1 << 16,
    FIRST_STREAM = FIRST_LANE + (1 << 15),
    FIRST_COUNTER = FIRST_STREAM + (1 << 14),
    COUNTERS = (1 << 14) - 2,
    SHORT_SEQUENCES = 16, /* of a rank */
    FIRST_LONG_SEQUENCE = 1 << 28
};

typedef struct writer {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    fd_slice_names names;
    bool *named;        /* owned; names interned on this sequence */
    bool *categorised;  /* owned; the same of categories */
    fd_streams streams; /* of the rank */
    uint32_t ids;       /* those of this rank begin here */
    const fd_export_options *options;
    fd_perfetto_clock clock; /* of the rank, from its start on */
    fd_perfetto_ticks ticks; /* of the sequence */
    bool on_stream;          /* not on a thread */
    fd_flows flows;          /* owned; of this rank */
    fd_transfers transfers;  /* owned; of all */
    fd_buffer *to;
    fd_buffer packet; /* scratch */
    fd_buffer message;
    fd_buffer inner;
    fd_buffer event;
} writer;

static void
send(writer *w)
{
    fd_proto_number(&w->packet, FD_PB_PACKET_SEQUENCE, w->ticks.sequence);
    fd_proto_message(w->to, FD_PB_TRACE_PACKET, &w->packet);
}

/* Every sequence has its own texts, clock and track. */
static void
begin_sequence(writer *w, uint32_t number, uint32_t track)
{
    uint32_t sequence = number < SHORT_SEQUENCES
                          ? w->rank->rank * SHORT_SEQUENCES + number + 1
                          : FIRST_LONG_SEQUENCE + track;
    memset(w->named, 0, w->names.names.texts.count + 1);
    memset(w->categorised, 0, w->names.categories.texts.count + 1);
    fd_perfetto_sequence(w->to, sequence, track);
    fd_perfetto_ticks_begin(&w->ticks, &w->clock, sequence, 0, w->to);
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

static void
write_process(writer *w)
{
    fd_buffer text = {.bytes = NULL};
    fd_rank_label(w->trace, w->rank, &text);
    fd_proto_number(&w->inner, FD_PB_PROCESS_PID, w->rank->rank + 1);
    fd_proto_number(&w->inner, FD_PB_PROCESS_SORT, w->rank->rank);
    fd_proto_bytes(&w->inner, FD_PB_PROCESS_NAME, text.bytes, text.size);
    text.size = 0;
    fd_buffer_format(&text, "pid %u", w->rank->pid);
    fd_proto_bytes(&w->inner, FD_PB_PROCESS_LABEL, text.bytes, text.size);
    if (w->options->clocks != NULL) {
        text.size = 0;
        fd_export_clock_label(
            &w->options->clocks[w->rank - w->trace->ranks.list], &text);
        fd_proto_bytes(&w->inner, FD_PB_PROCESS_LABEL, text.bytes, text.size);
    }
    fd_proto_number(&w->message, FD_PB_TRACK_UUID, process_track(w));
    fd_proto_message(&w->message, FD_PB_TRACK_PROCESS, &w->inner);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK, &w->message);
    send(w);
    fd_buffer_clear(&text);
}

static void
write_thread_track(writer *w, uint32_t thread)
{
    const fd_trace_thread *of = &w->rank->threads.list[thread];
    fd_proto_number(&w->inner, FD_PB_THREAD_PID, w->rank->rank + 1);
    fd_proto_number(&w->inner, FD_PB_THREAD_TID, thread_track(w, thread));
    fd_proto_number(&w->inner, FD_PB_THREAD_SORT, thread);
    fd_proto_text(&w->inner, FD_PB_THREAD_NAME,
                  fd_trace_text(w->trace, of->role));
    fd_proto_number(&w->message, FD_PB_TRACK_UUID, thread_track(w, thread));
    fd_proto_message(&w->message, FD_PB_TRACK_THREAD, &w->inner);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK, &w->message);
    send(w);
}

static void
write_lane(writer *w, uint32_t track, const char *name)
{
    fd_proto_number(&w->message, FD_PB_TRACK_UUID, track);
    fd_proto_text(&w->message, FD_PB_TRACK_NAME, name);
    fd_proto_number(&w->message, FD_PB_TRACK_PARENT, process_track(w));
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK, &w->message);
    send(w);
}

/* The texts of a slice, in the packet of the first slice that has them. */
static void
intern(writer *w, uint32_t id, bool *seen, const fd_text_pool *texts,
       uint32_t field)
{
    if (!seen[id]) {
        seen[id] = true;
        fd_proto_number(&w->inner, FD_PB_INTERNED_IID, id);
        fd_proto_text(&w->inner, FD_PB_INTERNED_TEXT,
                      fd_text_pool_get(texts, id));
        fd_proto_message(&w->message, field, &w->inner);
    }
}

/* Few, so that its texts are not interned. Its arrows are in `event`. */
static void
write_job(writer *w, const fd_trace_event *event, uint64_t delta)
{
    const fd_trace_job *job = &w->rank->jobs.list[event->context];
    fd_job_number numbers[FD_JOB_NUMBERS];
    int count = fd_job_numbers(job, numbers);
    fd_buffer name = {.bytes = NULL};
    fd_job_name(w->trace, job, &name);
    fd_proto_number(&w->event, FD_PB_EVENT_TYPE, FD_PB_TYPE_BEGIN);
    fd_proto_text(&w->event, FD_PB_EVENT_CATEGORY,
                  w->on_stream ? FD_JOB_ON_STREAM : FD_JOB_CATEGORY);
    fd_proto_bytes(&w->event, FD_PB_EVENT_NAME, name.bytes, name.size);
    for (int i = 0; i < count; i++) {
        fd_proto_number(&w->inner, FD_PB_NOTE_UINT, numbers[i].value);
        fd_proto_text(&w->inner, FD_PB_NOTE_NAME, numbers[i].name);
        fd_proto_message(&w->event, FD_PB_EVENT_NOTE, &w->inner);
    }
    if (job->open) {
        fd_proto_number(&w->inner, FD_PB_NOTE_BOOL, 1);
        fd_proto_text(&w->inner, FD_PB_NOTE_NAME, "open");
        fd_proto_message(&w->event, FD_PB_EVENT_NOTE, &w->inner);
    }
    fd_proto_number(&w->packet, FD_PB_PACKET_TIMESTAMP, delta);
    fd_proto_number(&w->packet, FD_PB_PACKET_FLAGS, FD_PB_STATE_NEEDED);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK_EVENT, &w->event);
    send(w);
    w->to->status = name.status != FD_OK ? name.status : w->to->status;
    fd_buffer_clear(&name);
}

/* An arrow at the beginning of a slice, as a field of its event to come. */
static void
write_flow(writer *w, uint32_t field, uint64_t id)
{
    fd_proto_fixed(&w->event, field, &id);
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

/* The note "open": a call that has not ended. */
static uint8_t *
put_open(uint8_t *to)
{
    static const uint8_t open[] = "\0\1\0\4open";
    *to++ = FD_PB_EVENT_NOTE << 3 | FD_PROTO_BYTES;
    *to++ = sizeof open - 1;
    memcpy(to, open, sizeof open - 1);
    to[0] = FD_PB_NOTE_BOOL << 3;
    to[2] = FD_PB_NOTE_NAME << 3 | FD_PROTO_BYTES;
    return to + sizeof open - 1;
}

/* One write for all of a packet but its texts and arrows: there are
 * millions. */
static void
write_edge(writer *w, const fd_trace_event *event, uint64_t time, bool begins)
{
    uint64_t delta = fd_perfetto_ticks_pass(&w->ticks, (int64_t)time, w->to);
    if (begins && event->kind == FD_EVENT_JOB) {
        write_job(w, event, delta);
        return;
    }
    uint8_t body[96];
    uint8_t inner[48];
    uint8_t *end = fd_proto_put_field(
        inner, FD_PB_EVENT_TYPE, begins ? FD_PB_TYPE_BEGIN : FD_PB_TYPE_END);
    if (begins) {
        fd_slice_name name = w->names.of_context[event->context];
        end = fd_proto_put_field(end, FD_PB_EVENT_CATEGORY_IID, name.category);
        end = fd_proto_put_field(end, FD_PB_EVENT_NAME_IID, name.name);
        intern(w, name.category, w->categorised, &w->names.categories,
               FD_PB_INTERNED_CATEGORY);
        intern(w, name.name, w->named, &w->names.names, FD_PB_INTERNED_NAME);
    }
    if (begins && event->kind == FD_EVENT_OPEN) {
        end = put_open(end);
    }
    uint8_t *at = fd_proto_put_field(body, FD_PB_PACKET_TIMESTAMP, delta);
    at = fd_proto_put_field(at, FD_PB_PACKET_SEQUENCE, w->ticks.sequence);
    if (begins) {
        at = fd_proto_put_field(at, FD_PB_PACKET_FLAGS, FD_PB_STATE_NEEDED);
    }
    if (w->event.size > 0) {
        fd_buffer_bytes(&w->event, inner, (size_t)(end - inner));
        fd_buffer_bytes(&w->packet, body, (size_t)(at - body));
        fd_proto_message(&w->packet, FD_PB_PACKET_TRACK_EVENT, &w->event);
        if (w->message.size > 0) {
            fd_proto_message(&w->packet, FD_PB_PACKET_INTERNED, &w->message);
        }
        fd_proto_message(w->to, FD_PB_TRACE_PACKET, &w->packet);
        return;
    }
    *at++ = FD_PB_PACKET_TRACK_EVENT << 3 | FD_PROTO_BYTES;
    *at++ = (uint8_t)(end - inner);
    memcpy(at, inner, (size_t)(end - inner));
    at += end - inner;
    if (w->message.size > 0) {
        fd_buffer_bytes(&w->packet, body, (size_t)(at - body));
        fd_proto_message(&w->packet, FD_PB_PACKET_INTERNED, &w->message);
        fd_proto_message(w->to, FD_PB_TRACE_PACKET, &w->packet);
        return;
    }
    uint8_t head[8];
    uint8_t *after =
        fd_proto_put(head, FD_PB_TRACE_PACKET << 3 | FD_PROTO_BYTES);
    after = fd_proto_put(after, (uint64_t)(at - body));
    fd_buffer_bytes(w->to, head, (size_t)(after - head));
    fd_buffer_bytes(w->to, body, (size_t)(at - body));
}

/* An event by name on the sequence's track: few. */
static void
write_named(writer *w, uint64_t type, const char *name, uint64_t time)
{
    uint64_t delta = fd_perfetto_ticks_pass(&w->ticks, (int64_t)time, w->to);
    fd_proto_number(&w->message, FD_PB_EVENT_TYPE, type);
    if (name != NULL) {
        fd_proto_text(&w->message, FD_PB_EVENT_NAME, name);
    }
    fd_proto_number(&w->packet, FD_PB_PACKET_TIMESTAMP, delta);
    fd_proto_number(&w->packet, FD_PB_PACKET_FLAGS, FD_PB_STATE_NEEDED);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK_EVENT, &w->message);
    send(w);
}

static void
write_lost(writer *w, uint64_t lost, const char *what, uint64_t time)
{
    if (lost > 0) {
        fd_buffer text = {.bytes = NULL};
        fd_buffer_format(&text, "%llu %s found no room in the timeline",
                         (unsigned long long)lost, what);
        fd_buffer_bytes(&text, "", 1);
        if (text.status == FD_OK) {
            write_named(w, FD_PB_TYPE_INSTANT, text.bytes, time);
        }
        fd_buffer_clear(&text);
    }
}

/* Where a job ends; or a nanosecond later, when what it did ended with it. */
static void
write_arrival(writer *w, const fd_trace_event *event)
{
    fd_arrow_end end = transfer_of(w, event);
    if (end.id == 0 || !end.ends) {
        return;
    }
    uint64_t delta = fd_perfetto_ticks_pass(
        &w->ticks, (int64_t)fd_transfer_arrival(event), w->to);
    fd_proto_number(&w->event, FD_PB_EVENT_TYPE, FD_PB_TYPE_INSTANT);
    fd_proto_text(&w->event, FD_PB_EVENT_CATEGORY, FD_TRANSFER_CATEGORY);
    fd_proto_text(&w->event, FD_PB_EVENT_NAME, "received");
    write_flow(w, FD_PB_EVENT_LAST_FLOWS, end.id);
    fd_proto_number(&w->packet, FD_PB_PACKET_TIMESTAMP, delta);
    fd_proto_number(&w->packet, FD_PB_PACKET_FLAGS, FD_PB_STATE_NEEDED);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK_EVENT, &w->event);
    send(w);
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
        uint32_t place = (uint32_t)(event - w->rank->events.list);
        if (edge.begins) {
            write_flows(w, place);
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
    write_lane(w, track, name);
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

/* The clock of all is that of the first rank. */
static void
set_clock(writer *w)
{
    const fd_export_options *options = w->options;
    const fd_trace_rank *first = &w->trace->ranks.list[0];
    uint32_t place = (uint32_t)(w->rank - first);
    const fd_clock_map zero = fd_export_clock_of(w->trace, options, 0);
    int64_t boot = (int64_t)first->start.boottime_ns;
    int64_t real = (int64_t)first->start.realtime_ns;
    int64_t off = FD_CLOCK_UNKNOWN;
    if (options->clocks != NULL) {
        real = options->clocks_base_ns + fd_clock_apply(&zero, 0);
        off = options->clocks[place].uncertainty_ns;
    }
    w->clock = (fd_perfetto_clock){
        .map = fd_export_clock_of(w->trace, options, place),
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
                                       .room = COUNTERS};
    fd_status status = fd_perfetto_tracks_write(&tracks, w->to);
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
    fd_perfetto_origin(w->to, text);
}

fd_status
fd_export_perfetto(const fd_trace *trace, const fd_export_options *options,
                   fd_buffer *to, fd_error *error)
{
    writer w = {.trace = trace, .options = options, .to = to};
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
    fd_buffer_clear(&w.packet);
    fd_buffer_clear(&w.message);
    fd_buffer_clear(&w.inner);
    fd_buffer_clear(&w.event);
    return status == FD_OK ? to->status : status;
}
