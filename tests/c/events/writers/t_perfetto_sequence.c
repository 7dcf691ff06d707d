#include "natives.h"

#include "events/writers/perfetto_fields.h"

/* One sequence for an input: how many packets of which kind. */
TEST(one_sequence_an_input)
{
    CLEAN(fd_buffer_clear) fd_buffer lines = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer content = {.bytes = NULL};
    fd_timeline_input input;
    fd_proto_field packet;
    fd_proto_field f;
    int clocks = 0;
    int tracks = 0;
    int events = 0;
    int cleared = 0;
    OK(native_merged("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1,"
                     "\"name\":\"a\"},{\"ph\":\"X\",\"pid\":1,\"tid\":2,"
                     "\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":\"i\","
                     "\"s\":\"g\",\"ts\":9,\"pid\":1,\"tid\":1}]",
                     &input, &lines));
    OK(fixture_read("native.pftrace", &content));
    fd_proto_reader packets = fd_proto_read(content.bytes, content.size);
    while (fd_proto_next(&packets, &packet)) {
        fd_proto_reader r = fd_proto_read(packet.bytes, packet.size);
        while (fd_proto_next(&r, &f)) {
            clocks += f.number == FD_PB_PACKET_CLOCK_SNAPSHOT;
            tracks += f.number == FD_PB_PACKET_TRACK;
            events += f.number == FD_PB_PACKET_TRACK_EVENT;
            cleared += f.number == FD_PB_PACKET_FLAGS && f.value == 1;
            CHECK(f.number != FD_PB_PACKET_SEQUENCE || f.value == 1);
        }
    }
    CHECK(!packets.bad);
    EQUAL(clocks, 1);
    EQUAL(cleared, 1);
    EQUAL(tracks, 4); /* a process, two threads, instants of everything */
    EQUAL(events, 5);
}
