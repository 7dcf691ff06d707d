#include "call_trees.h"
#include "check.h"

#include "streams/protobuf.h"

static const tree_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py:B:f", 2, 10), .line = 7, .qualified = "B.f"},
    {OP(2, "aten::mm", 300, 20), .resumes = 5},
    {OTHER(0, FD_NODE_THREAD, "idle", 0, 0)},
};

enum { MOST = 16 };

/* The number of occurrences of each field. */
static void
count_fields(const call_tree *p, int counts[MOST])
{
    fd_proto_reader reader = fd_proto_read(p->text.bytes, p->text.size);
    fd_proto_field field;
    while (fd_proto_next(&reader, &field)) {
        CHECK(field.number < MOST);
        counts[field.number]++;
    }
    CHECK(!reader.bad);
}

static void
a_sample_a_context(void)
{
    CALL_TREE(p, run);
    int counts[MOST] = {0};
    OK(call_tree_write(&p, "pprof"));
    count_fields(&p, counts);
    EQUAL(counts[1], 6); /* types of values */
    EQUAL(counts[2], 3); /* samples: one context has no figures */
    EQUAL(counts[4], 4);
    EQUAL(counts[5], 4);
    EQUAL(counts[14], 1);
}

static void
nothing_recorded(void)
{
    CLEAN(call_tree_clear) call_tree p = {.trace = NULL};
    int counts[MOST] = {0};
    OK(call_tree_make(&p, NULL, 0));
    OK(call_tree_write(&p, "pprof"));
    count_fields(&p, counts);
    EQUAL(counts[2], 0);
    EQUAL(counts[1], 6);
}

RUN(TEST(a_sample_a_context), TEST(nothing_recorded))
