#include "check.h"

#include "streams/protobuf.h"

TEST(messages)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer inner = {.bytes = NULL};
    fd_proto_number(&inner, 1, 150);
    fd_proto_text(&inner, 2, "testing");
    fd_proto_message(&to, 3, &inner);
    OK(to.status);
    EQUAL(inner.size, 0);
    EQUAL(to.size, 14);
    CHECK(memcmp(to.bytes, "\x1a\x0c\x08\x96\x01\x12\x07testing", 14) == 0);
}
