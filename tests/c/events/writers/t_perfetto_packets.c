#include "check.h"
#include "natives.h"

#include "events/writers/perfetto_fields.h"
#include "events/writers/perfetto_packets.h"
#include "streams/protobuf.h"

/* A field of the n-th packet; number 0: it has none. */
static fd_proto_field
packet_field(const fd_buffer *to, int packet, uint32_t field)
{
    fd_proto_field f = {.number = 0};
    fd_proto_reader r = fd_proto_read(to->bytes, to->size);
    for (int i = 0; i <= packet && fd_proto_next(&r, &f); i++) {
    }
    r = fd_proto_read(f.bytes, f.size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == field) {
            return f;
        }
    }
    return (fd_proto_field){.number = 0};
}

/* The timestamp of an instant, which is in this packet. */
static uint64_t
passed(fd_native_packets *p, int64_t time, int packet)
{
    fd_native_put_event(p, FD_PB_TYPE_INSTANT, 1, time, (fd_span){NULL, NULL});
    return packet_field(p->to, packet, FD_PB_PACKET_TRACK_EVENT).number != 0
             ? packet_field(p->to, packet, FD_PB_PACKET_TIMESTAMP).value
             : UINT64_MAX;
}

/* Each is half a nanosecond longer: the first snapshot is exact, the next follows
 * after an error of 10 ns. */
TEST(ticks_drift)
{
    static const fd_perfetto_clock clock = {
        .map = {.offset_ns = 1000, .drift_ppt = 500000000000}, .step_ns = 10};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_native_packets p = {.to = &to};
    fd_native_begin_clock(&p, &clock, -6);
    OK(to.status);
    FIELDS(&p, (zero, -6), (steps.offset_ns, 997));
    uint64_t first = passed(&p, 6, 1);
    OK(to.status);
    EQUAL(first, 12);
    EQUAL(passed(&p, 24, 3), 0); /* since the snapshot */
    CHECK(packet_field(&to, 2, FD_PB_PACKET_CLOCK_SNAPSHOT).number != 0);
    EQUAL(p.steps.offset_ns, 1012);
    EQUAL(passed(&p, 20, 4), 0); /* times ascend */
    EQUAL(passed(&p, 26, 5), 2);
    OK(to.status);
}

/* Lengths of packets of one, two and three bytes. */
TEST(events_of_any_size)
{
    static const fd_perfetto_clock clock = {.step_ns = 10};
    static const size_t sizes[] = {0, 3, 90, 130, 20000};
    static const char bytes[20000];
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer body = {.bytes = NULL};
    fd_native_packets p = {.to = &to};
    fd_native_begin_clock(&p, &clock, 0);
    for (int i = 0; i < 5; i++) {
        body.size = 0;
        fd_proto_bytes(&body, FD_PB_EVENT_NAME, bytes, sizes[i]);
        OK(body.status);
        fd_native_put_event(&p, FD_PB_TYPE_BEGIN, 7, i, fd_span_of(&body));
        OK(to.status);
        fd_proto_field event =
            packet_field(&to, i + 1, FD_PB_PACKET_TRACK_EVENT);
        EQUAL(native_number(&event, FD_PB_EVENT_TYPE), FD_PB_TYPE_BEGIN);
        EQUAL(native_number(&event, FD_PB_EVENT_TRACK), 7);
        CHECK(event.size > sizes[i]);
    }
}
