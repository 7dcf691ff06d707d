#include "traces.h"

#include "et/readers/chakra_fields.h"
#include "et/readers/et_readers.h"
#include "fixtures.h"

#include <string.h>

/* Read back, it is what was written. */
static void
round_trip(const char *name)
{
    LOADED(et);
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    et.nodes.list[4].flags |= FD_ET_GPU | FD_ET_TIMED;
    et.nodes.list[4].start_ns = 1234567;
    et.nodes.list[4].dur_ns = 2345;
    et.nodes.list[4].self_ns = 345;
    et.nodes.list[4].stream = -7;
    et.nodes.list[4].device = 3;
    et.rank = 3;
    et.world = 4;
    OK(fd_et_save(&et, name, NULL));
    OK(traces_read(&again, name, FD_ET_ALL_KINDS, NULL));
    FIELDS(&again, (format, FD_ET_CHAKRA), (rank, 3), (world, 4), (pid, 7),
           (groups.count, 1), (nodes.count, et.nodes.count),
           (edges.count, et.edges.count));
    for (uint32_t i = 0; i < et.nodes.count; i++) {
        const fd_et_node *a = &et.nodes.list[i];
        const fd_et_node *b = &again.nodes.list[i];
        FIELDS(a, (id, b->id), (parent, b->parent), (type, b->type),
               (rf_id, b->rf_id), (seq, b->seq), (stream, b->stream),
               (device, b->device), (start_ns, b->start_ns),
               (dur_ns, b->dur_ns), (self_ns, b->self_ns));
        EQUAL(a->flags | FD_ET_WRITTEN, b->flags);
        SAME(fd_et_text(&et, a->name), fd_et_text(&again, b->name));
        SAME(fd_et_text(&et, a->in.values), fd_et_text(&again, b->in.values));
    }
    for (uint32_t i = 0; i < et.edges.count; i++) {
        EQUAL(et.edges.list[i].from, again.edges.list[i].from);
        EQUAL(et.edges.list[i].to, again.edges.list[i].to);
        EQUAL(et.edges.list[i].kinds, again.edges.list[i].kinds);
    }
}

TEST(packed)
{
    round_trip("a.et.gz");
}

/* Files of others: kinds of attributes we do not write, deps one by one. */
TEST(foreign)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer node = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer attr = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    double half = 0.5;
    fd_buffer_bytes(&file, "\0", 1); /* an empty head */
    fd_proto_number(&node, FD_CHAKRA_ID, 4);
    fd_proto_number(&node, FD_CHAKRA_DATA_DEPS, 5);
    fd_proto_number(&node, FD_CHAKRA_DATA_DEPS, 99);
    fd_proto_number(&node, FD_CHAKRA_DURATION, 6);
    fd_proto_text(&attr, FD_CHAKRA_ATTR_NAME, "half");
    fd_proto_fixed(&attr, FD_CHAKRA_DOUBLE, &half);
    fd_proto_message(&node, FD_CHAKRA_ATTR, &attr);
    fd_proto_text(&attr, FD_CHAKRA_ATTR_NAME, "rf_id");
    fd_proto_text(&attr, FD_CHAKRA_STRING, "wrong");
    fd_proto_message(&node, FD_CHAKRA_ATTR, &attr);
    char size = (char)node.size;
    fd_buffer_bytes(&file, &size, 1);
    fd_buffer_bytes(&file, node.bytes, node.size);
    fd_buffer_bytes(&file, "\x02\x08\x05", 3); /* node 5 */
    OK(file.status);
    OK(node.status);
    OK(attr.status);
    OK(fixture_write("a.et", file.bytes, file.size));
    OK(traces_read(&et, "a.et", FD_ET_ALL_KINDS, NULL));
    EQUAL(et.nodes.count, 2);
    EQUAL(et.faults.renumbered, 2); /* 4 waits for 5 */
    EQUAL(et.faults.dangling, 1);
    EQUAL(et.faults.wrong, 1);
    EQUAL(traces_edge(&et, 1, 2), 1U << FD_ET_GIVEN);
    EQUAL(et.nodes.list[1].self_ns, 6000);
    OK(fd_et_save(&et, "b.et", NULL));
    OK(traces_read(&again, "b.et", FD_ET_ALL_KINDS, NULL));
    EQUAL(again.attrs.count, 1);
    CHECK(memcmp(&again.attrs.list[0].number, &half, sizeof half) == 0);
}

TEST(cut_short)
{
    LOADED(et);
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    OK(fd_et_save(&et, "a.et", NULL));
    OK(fixture_read("a.et", &file));
    for (size_t size = 200; size < file.size; size += 91) {
        CLEAN(fd_et_clear) fd_et part = {.rank = -1};
        OK(fixture_write("b.et", file.bytes, size));
        fd_status status = traces_read(&part, "b.et", FD_ET_ALL_KINDS, NULL);
        if (part.nodes.count == 0) { /* no node is left: that is an error */
            STATUS(status, FD_EFORMAT);
            continue;
        }
        OK(status);
        CHECK(part.nodes.count < 10);
        CHECK(part.faults.lost == 1);
        HAS(part.faults.trouble, "cut short at byte");
    }
}

TEST(known)
{
    CHECK(fd_et_is_chakra("\0", 1));
    CHECK(fd_et_is_chakra("\x02\x0A\x00", 3));
    CHECK(!fd_et_is_chakra("{\"nodes\": []}", 13));
    CHECK(!fd_et_is_chakra("", 0));
}
