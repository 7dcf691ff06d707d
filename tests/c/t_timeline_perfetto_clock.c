#include "check.h"

#include "export/perfetto_fields.h"
#include "export/proto.h"
#include "timeline/perfetto_clock.h"

/* A number of a message; 0 without. */
static uint64_t
number_of(const fd_proto_field *message, uint32_t field)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == field) {
            return f.value;
        }
    }
    return 0;
}

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
    EQUAL(number_of(&f, FD_PB_PACKET_SEQUENCE), UINT32_MAX);
    r = fd_proto_read(f.bytes, f.size);
    CHECK(fd_proto_next(&r, &f));
    EQUAL(f.number, FD_PB_PACKET_CLOCK_SNAPSHOT);
    r = fd_proto_read(f.bytes, f.size);
    for (int i = 0; i < 2; i++) {
        CHECK(fd_proto_next(&r, &g));
        EQUAL(g.number, FD_PB_CLOCKS);
        EQUAL(number_of(&g, FD_PB_CLOCK_ID), readings[i].clock);
        EQUAL(number_of(&g, FD_PB_CLOCK_TIMESTAMP), readings[i].time);
        EQUAL(number_of(&g, FD_PB_CLOCK_INCREMENTAL), i == 0);
    }
    CHECK(!fd_proto_next(&r, &g));
}

RUN(TEST(a_snapshot_reads_as_it_was_made))
