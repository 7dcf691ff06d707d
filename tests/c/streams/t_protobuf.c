#include "check.h"

#include "streams/protobuf.h"

static void
numbers(void)
{
    uint8_t bytes[32];
    EQUAL(fd_proto_put(bytes, 0) - bytes, 1);
    EQUAL(fd_proto_put(bytes, 127) - bytes, 1);
    EQUAL(fd_proto_put(bytes, 300) - bytes, 2);
    EQUAL(bytes[0], 0xac);
    EQUAL(bytes[1], 0x02);
    EQUAL(fd_proto_put(bytes, UINT64_MAX) - bytes, 10);
    EQUAL(fd_proto_put_field(bytes, 58, 64) - bytes, 3);
    EQUAL(bytes[0], 0xd0);
    EQUAL(bytes[1], 0x03);
}

static void
messages(void)
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

RUN(TEST(numbers), TEST(messages))
