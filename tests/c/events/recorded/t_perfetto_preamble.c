#include "check.h"
#include "natives.h"

#include "events/recorded/perfetto_fields.h"
#include "events/recorded/perfetto_preamble.h"
#include "streams/protobuf.h"

#include <string.h>

static void
a_snapshot_reads_as_it_was_made(void)
{
    static const fd_perfetto_reading readings[] = {
        {FD_PB_INCREMENTAL, 5}, {FD_PB_BOOTTIME, INT64_MAX}};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_proto_field f;
    fd_proto_field g;
    fd_perfetto_snapshot(&to, UINT32_MAX, readings, 2);
    OK(to.status);
    fd_proto_reader r = fd_proto_read(to.bytes, to.size);
    CHECK(fd_proto_next(&r, &f) && r.at == r.end);
    EQUAL(f.number, FD_PB_TRACE_PACKET);
    EQUAL(native_number(&f, FD_PB_PACKET_SEQUENCE), UINT32_MAX);
    r = fd_proto_read(f.bytes, f.size);
    CHECK(fd_proto_next(&r, &f));
    EQUAL(f.number, FD_PB_PACKET_CLOCK_SNAPSHOT);
    r = fd_proto_read(f.bytes, f.size);
    for (int i = 0; i < 2; i++) {
        CHECK(fd_proto_next(&r, &g));
        EQUAL(g.number, FD_PB_CLOCKS);
        EQUAL(native_number(&g, FD_PB_CLOCK_ID), readings[i].clock);
        EQUAL(native_number(&g, FD_PB_CLOCK_TIMESTAMP), readings[i].time);
        EQUAL(native_number(&g, FD_PB_CLOCK_INCREMENTAL), i == 0);
    }
    CHECK(!fd_proto_next(&r, &g));
}

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

static void
who_wrote_it(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_perfetto_origin(&to, "fastdispatch: 3 files");
    OK(to.status);
    fd_proto_field f = packet_field(&to, 0, FD_PB_PACKET_SYSTEM);
    EQUAL(f.size, 2 + 21);
    CHECK(memcmp(f.bytes + 2, "fastdispatch: 3 files", 21) == 0);
}

static void
a_sequence_begins(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_perfetto_sequence(&to, 7, UINT64_MAX);
    fd_perfetto_sequence(&to, 8, 0);
    OK(to.status);
    EQUAL(packet_field(&to, 0, FD_PB_PACKET_SEQUENCE).value, 7);
    EQUAL(packet_field(&to, 1, FD_PB_PACKET_SEQUENCE).value, 8);
    EQUAL(packet_field(&to, 0, FD_PB_PACKET_FLAGS).value, FD_PB_STATE_CLEARED);
    fd_proto_field f = packet_field(&to, 0, FD_PB_PACKET_DEFAULTS);
    EQUAL(native_number(&f, FD_PB_DEFAULTS_CLOCK), FD_PB_INCREMENTAL);
    fd_proto_field g;
    fd_proto_reader r = fd_proto_read(f.bytes, f.size);
    while (fd_proto_next(&r, &g) && g.number != FD_PB_DEFAULTS_TRACK_EVENT) {
    }
    EQUAL(native_number(&g, FD_PB_EVENT_TRACK), UINT64_MAX);
    f = packet_field(&to, 1, FD_PB_PACKET_DEFAULTS);
    EQUAL(native_number(&f, FD_PB_DEFAULTS_TRACK_EVENT), 0);
}

/* Each is half a nanosecond longer: the first snapshot is exact, the next follows
 * after an error of 10 ns. */
static void
ticks_drift(void)
{
    static const fd_perfetto_clock clock = {
        .map = {.offset_ns = 1000, .drift_ppt = 500000000000}, .step_ns = 10};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_perfetto_ticks ticks;
    fd_perfetto_ticks_begin(&ticks, &clock, 3, -6, &to);
    size_t one = to.size;
    EQUAL(ticks.zero, -6);
    EQUAL(ticks.steps.offset_ns, 997);
    EQUAL(fd_perfetto_ticks_pass(&ticks, 6, &to), 12);
    EQUAL(to.size, one);
    EQUAL(fd_perfetto_ticks_pass(&ticks, 24, &to), 0); /* since the snapshot */
    EQUAL(ticks.steps.offset_ns, 1012);
    CHECK(to.status != FD_OK || to.size > one);
    one = to.size;
    EQUAL(fd_perfetto_ticks_pass(&ticks, 20, &to), 0); /* none goes back */
    EQUAL(fd_perfetto_ticks_pass(&ticks, 26, &to), 2);
    EQUAL(to.size, one);
    OK(to.status);
}

RUN(TEST(a_snapshot_reads_as_it_was_made), TEST(who_wrote_it),
    TEST(a_sequence_begins), TEST(ticks_drift))
