#include "check.h"
#include "fixtures.h"

#include "events/recorded/perfetto_fields.h"
#include "events/recorded/perfetto_tracks.h"
#include "streams/protobuf.h"

/* How many packets there are, and what their events are of. */
typedef struct tally {
    int packets;
    int tracks;
    int begins;
    int ends;
    uint64_t counted; /* sum of the values */
    uint64_t passed;  /* sum of the times since the packet before */
} tally;

static void
take_event(tally *t, const fd_proto_field *message)
{
    fd_proto_reader reader = fd_proto_read(message->bytes, message->size);
    fd_proto_field field;
    while (fd_proto_next(&reader, &field)) {
        if (field.number == FD_PB_EVENT_TYPE) {
            t->begins += field.value == FD_PB_TYPE_BEGIN;
            t->ends += field.value == FD_PB_TYPE_END;
        }
        else if (field.number == FD_PB_EVENT_COUNTER) {
            t->counted += field.value;
        }
    }
}

static tally
tally_of(const fd_buffer *trace)
{
    tally t = {.packets = 0};
    fd_proto_reader packets = fd_proto_read(trace->bytes, trace->size);
    fd_proto_field packet;
    fd_proto_field field;
    while (fd_proto_next(&packets, &packet)) {
        t.packets++;
        fd_proto_reader reader = fd_proto_read(packet.bytes, packet.size);
        while (fd_proto_next(&reader, &field)) {
            t.tracks += field.number == FD_PB_PACKET_TRACK;
            if (field.number == FD_PB_PACKET_TRACK_EVENT) {
                take_event(&t, &field);
            }
            if (field.number == FD_PB_PACKET_TIMESTAMP) {
                t.passed += field.value;
            }
        }
    }
    return t;
}

static void
packets_of_phases_and_counters(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = fd_trace_new();
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(trace != NULL && fd_trace_add_rank(trace) != NULL ? FD_OK : FD_ENOMEM);
    fd_trace_rank *rank = &trace->ranks.list[0];
    const fd_perfetto_clock clock = {.map = {.offset_ns = 5000}, .step_ns = 1};
    fd_perfetto_tracks tracks = {.trace = trace,
                                 .rank = rank,
                                 .clock = &clock,
                                 .sequences = 1 << 20,
                                 .parent = 10,
                                 .phases = 11,
                                 .first = 12,
                                 .capacity = 2};
    OK(fd_perfetto_tracks_write(&tracks, &to));
    EQUAL(to.size, 0);
    fd_trace_step step = {.begin = 100, .end = 160};
    step.phases[FD_PHASE_FORWARD] = 20;
    OK(fd_vector_push(&rank->latest, step));
    for (uint16_t device = 0; device < 3; device++) { /* one too many */
        fd_trace_gpu_event event = {
            .host = 10, .start = 12, .duration = 8, .device = device};
        OK(fd_vector_push(&rank->gpu_events, event));
    }
    OK(fd_perfetto_tracks_write(&tracks, &to));
    OK(to.status);
    tally t = tally_of(&to);
    EQUAL(t.tracks, 3);
    EQUAL(t.begins, 1);
    EQUAL(t.ends, 1);
    EQUAL(t.counted, 2);
    EQUAL(t.packets, 3 * 3 + 2 + 4); /* a begin, a clock, a track each */
    EQUAL(t.passed, 120 + 2 * 20);
}

RUN(TEST(packets_of_phases_and_counters))
