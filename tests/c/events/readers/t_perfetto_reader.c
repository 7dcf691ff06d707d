#include "natives.h"

#include "events/readers/perfetto_reader.h"
#include "events/recorded/perfetto_fields.h"
#include "streams/protobuf.h"

#include <string.h>

static void
recognized_by_its_first_packet(void)
{
    CHECK(fd_perfetto_matches("", "\x0A\x02\x50\x01", 4));
    CHECK(fd_perfetto_matches("",
                              "\x0A\x0A\x50\x01\x50\x01\x50\x01\x50\x01"
                              "\x50\x01",
                              12));
    CHECK(fd_perfetto_matches("", "\x0A\x7F\x50\x01", 4)); /* goes on */
    CHECK(!fd_perfetto_matches("", "\n[{\"ph\":\"X\"}]", 12));
    CHECK(!fd_perfetto_matches("", "\n\n[{\"ph\":\"X\",\"ts\":1}]", 21));
    CHECK(!fd_perfetto_matches("", "\n {\"traceEvents\":[]}", 20));
    CHECK(!fd_perfetto_matches("", "\n", 1));
}

/* A slice of track 1 at `time` begins, with flow 7. */
static void
add_slice(fd_buffer *file, uint64_t time)
{
    static const uint64_t flow = 7;
    fd_buffer packet = {.bytes = NULL};
    fd_buffer event = {.bytes = NULL};
    fd_proto_number(&event, FD_PB_EVENT_TYPE, FD_PB_TYPE_BEGIN);
    fd_proto_number(&event, FD_PB_EVENT_TRACK, 1);
    fd_proto_fixed(&event, FD_PB_EVENT_FLOWS, &flow);
    fd_proto_number(&packet, FD_PB_PACKET_TIMESTAMP, time);
    fd_proto_message(&packet, FD_PB_PACKET_TRACK_EVENT, &event);
    fd_proto_message(file, FD_PB_TRACE_PACKET, &packet);
    fd_buffer_clear(&packet);
    fd_buffer_clear(&event);
}

static void
arrows_begin_where_time_does(void)
{
    static const char track[] = "\x0A\x0B\xE2\x03\x08\x08\x01\x22\x04\x08"
                                "\x05\x10\x06";
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    fd_buffer_bytes(&file, track, sizeof track - 1);
    add_slice(&file, 100);
    add_slice(&file, 10);
    OK(file.status);
    OK(fixture_write("flow.pftrace", file.bytes, file.size));
    OK(native_merge("flow.pftrace", "flow.json", &input));
    OK(fixture_read("flow.json", &to));
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    CHECK(strstr(to.bytes, "\"ph\":\"t\",\"pid\":2,\"tid\":3000000000,"
                           "\"ts\":0.100")
          != NULL);
    CHECK(strstr(to.bytes, "\"ph\":\"s\",\"pid\":2,\"tid\":3000000000,"
                           "\"ts\":0.010")
          != NULL);
}

/* Importers of Chrome JSON keep its rows as legacy events. */
static void
rows_of_legacy_events(void)
{
    static const char bytes[] =
        "\x0A\x0B\xE2\x03\x08\x08\x01\x22\x04\x08\x05\x10\x06"
        "\x0A\x28\x40\x05\x5A\x24\x58\x01\x32\x02\x10\x4D"
        "\xBA\x01\x0Bthread_name"
        "\x22\x0E\x52\x04name\x32\x06worker";
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    OK(fixture_write("rows.pftrace", bytes, sizeof bytes - 1));
    OK(native_merge("rows.pftrace", "rows2.pftrace", &input));
    EQUAL(input.lost, 0);
    EQUAL(input.native.skipped, 0);
    OK(native_merge("rows2.pftrace", "rows.json", &input));
    OK(fixture_read("rows.json", &to));
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    CHECK(strstr(to.bytes, "\"name\":\"thread_name\",\"args\":{\"name\":"
                           "\"worker\"}")
          != NULL);
}

RUN(TEST(recognized_by_its_first_packet), TEST(arrows_begin_where_time_does),
    TEST(rows_of_legacy_events))
