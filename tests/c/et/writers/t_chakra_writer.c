#include "traces.h"

#include "et/readers/chakra_fields.h"
#include "fixtures.h"

#include <string.h>

/* The attribute of a node, its bytes in `value`; its field, 0: no such attribute. */
static uint32_t
find_attr(const fd_proto_field *node, const char *name, fd_proto_field *value)
{
    fd_proto_field attr;
    fd_proto_field f;
    fd_proto_reader all = fd_proto_read(node->bytes, node->size);
    while (fd_proto_next(&all, &attr)) {
        bool same = false;
        if (attr.number != FD_CHAKRA_ATTR) {
            continue;
        }
        fd_proto_reader r = fd_proto_read(attr.bytes, attr.size);
        while (fd_proto_next(&r, &f)) {
            if (f.number == FD_CHAKRA_ATTR_NAME) {
                same = f.size == strlen(name)
                    && memcmp(f.bytes, name, f.size) == 0;
            }
            else if (same) {
                *value = f;
                return f.number;
            }
        }
    }
    return 0;
}

/* The n-th message of a file; `*at` starts at its start. */
static bool
next_message(const char **at, const char *end, fd_proto_field *message)
{
    uint64_t size;
    if (*at == end || !fd_proto_varint(at, end, &size)
        || size > (uint64_t)(end - *at)) {
        return false;
    }
    message->bytes = *at;
    message->size = (size_t)size;
    *at += size;
    return true;
}

TEST(typed)
{
    LOADED(et);
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    et.rank = 3;
    OK(fd_et_save(&et, "a.et", NULL));
    OK(fixture_read("a.et", &file));
    const char *at = file.bytes;
    const char *end = file.bytes + file.size;
    fd_proto_field message;
    fd_proto_field value;
    CHECK(next_message(&at, end, &message)); /* the head */
    CHECK(memmem(message.bytes, message.size, "world_size", 10) == NULL);
    CHECK(memmem(message.bytes, message.size, "schema", 6) != NULL);
    for (int i = 0; i < 9; i++) {
        CHECK(next_message(&at, end, &message));
        EQUAL(find_attr(&message, "is_cpu_op", &value), FD_CHAKRA_BOOL);
        EQUAL(find_attr(&message, "rf_id", &value), FD_CHAKRA_INT64);
        EQUAL(find_attr(&message, "op_schema", &value), FD_CHAKRA_STRING);
    }
    EQUAL(find_attr(&message, "comm_type", &value), FD_CHAKRA_INT64);
    EQUAL(value.value, 0);
    EQUAL(find_attr(&message, "comm_size", &value), FD_CHAKRA_INT64);
    EQUAL(value.value, 24);
    EQUAL(find_attr(&message, "pg_name", &value), FD_CHAKRA_STRING);
    CHECK(next_message(&at, end, &message));
    EQUAL(find_attr(&message, "comm_dst", &value), FD_CHAKRA_INT32);
    EQUAL(value.value, 1);
    EQUAL(find_attr(&message, "comm_src", &value), 0);
    EQUAL(find_attr(&message, "fd_edges", &value), FD_CHAKRA_BYTES);
    CHECK(!next_message(&at, end, &message));
}

TEST(refused)
{
    LOADED(et);
    fd_error error;
    STATUS(fd_et_save(&et, "nowhere/a.et", &error), FD_EIO);
    STATUS(fd_et_save(&et, "a.txt", &error), FD_EINVAL);
    SAME(error.text,
         "a.txt: write a name that ends in .et or .json, with .gz or without");
}
