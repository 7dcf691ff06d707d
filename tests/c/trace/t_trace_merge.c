#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

typedef struct three {
    fd_trace *of[3]; /* owned */
} three;

static void
three_free(three *t)
{
    for (int i = 0; i < 3; i++) {
        fd_trace_free(t->of[i]);
    }
}

/* Three ranks that differ: the last has a function that only it calls. */
static fd_status
three_make(three *t)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < 3 && status == FD_OK; i++) {
        status = fixture_trace(&t->of[i], i, "run");
    }
    if (status == FD_OK) {
        fd_trace *last = t->of[2];
        fd_figure figure = {.calls = 9, .self = 99};
        fd_trace_context context = last->contexts.list[1];
        context.parent = fixture_find(last, "step");
        figure.context = last->contexts.count;
        status = fd_vector_push(&last->contexts, context);
        fd_then(status, fd_vector_push(&last->ranks.list[0].figures, figure));
    }
    return status;
}

/* Merge in this order; with `nested` the first two are merged and sorted
 * before, as a merge of a merge. */
static fd_status
merged(fd_trace **to, fd_trace *const *from, const int *order, bool nested)
{
    *to = fd_trace_new();
    fd_trace *part = fd_trace_new();
    fd_status status = *to == NULL || part == NULL ? FD_ENOMEM : FD_OK;
    for (int i = 0; i < 3 && status == FD_OK; i++) {
        bool inner = nested && i < 2;
        status = fixture_merge(inner ? part : *to, from[order[i]], "x", NULL);
    }
    if (status == FD_OK && nested) {
        status = fd_trace_sort(part);
        fd_then(status, fixture_merge(*to, part, "part", NULL));
    }
    fd_trace_free(part);
    return status == FD_OK ? fd_trace_sort(*to) : status;
}

TEST(any_order_any_grouping)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    CLEAN(three_free) three t = {{NULL, NULL, NULL}};
    CLEAN(fixture_trace_free) fd_trace *first = NULL;
    OK(three_make(&t));
    OK(merged(&first, t.of, orders[0], false));
    EQUAL(first->ranks.count, 3);
    CHECK(fixture_sound(first));
    for (int i = 0; i < 12; i++) {
        CLEAN(fixture_trace_free) fd_trace *other = NULL;
        OK(merged(&other, t.of, orders[i / 2], i % 2 == 1));
        CHECK(fixture_same(first, other));
    }
}

/* A trace whose ranks were moved has none; a refused one keeps them. */
TEST(taken)
{
    TRAINED_TRACE(one, 4, NULL);
    TRAINED_TRACE(again, 4, NULL);
    NEW_TRACE(copied);
    NEW_TRACE(moved);
    fd_error error;
    OK(fixture_merge(copied, one, "copied", &error));
    OK(fd_merge_take(moved, one, "moved", &error));
    EQUAL(one->ranks.count, 0);
    STATUS(fd_merge_take(moved, again, "again", &error), FD_ECONFLICT);
    EQUAL(again->ranks.count, 1);
    OK(fd_trace_sort(copied));
    OK(fd_trace_sort(moved));
    CHECK(fixture_same(copied, moved));
}

/* Merge contexts of one node into an empty trace. */
static fd_status
merge_contexts(fd_trace *trace, const fd_trace_context *contexts,
               const bool *wanted, uint32_t count, uint32_t *map)
{
    uint32_t id;
    fd_trace_node node = {.kind = FD_NODE_OP};
    fd_status status = fd_trace_add_node(trace, &node, &id);
    return status == FD_OK
             ? fd_contexts_merge(trace, contexts, wanted, count, map)
             : status;
}

/* Children before parents, origins far away: ids are in an order that a single
 * pass can use. */
TEST(any_order)
{
    NEW_TRACE(trace);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.parent = 3, .node = 1, .module = 1},
        {.parent = 1, .node = 1, .module = 2, .origin = 4},
        {.parent = 0, .node = 1, .module = 3},
        {.parent = 3, .node = 1, .module = 4},
    };
    uint32_t map[5];
    OK(merge_contexts(trace, contexts, NULL, 5, map));
    EQUAL(trace->contexts.count, 5);
    for (uint32_t i = 1; i < 5; i++) {
        const fd_trace_context *made = &trace->contexts.list[map[i]];
        FIELDS(made, (module, i), (parent, map[contexts[i].parent]),
               (origin, map[contexts[i].origin]));
        CHECK(made->parent < map[i] && made->origin < map[i]);
    }
}

TEST(only_selected_parts)
{
    NEW_TRACE(trace);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.node = 1, .module = 1},
        {.parent = 1, .node = 1, .module = 2},
        {.parent = 1, .node = 1, .module = 3},
        {.parent = 3, .node = 1, .module = 4, .origin = 5},
        {.node = 1, .module = 5},
    };
    bool wanted[] = {false, false, false, false, true, false};
    uint32_t map[6];
    OK(merge_contexts(trace, contexts, wanted, 6, map));
    EQUAL(trace->contexts.count, 5);
    EQUAL(map[2], 0);
    CHECK(map[1] != 0 && map[3] != 0 && map[4] != 0 && map[5] != 0);
}

/* Two of the same below the same parent are one. */
TEST(duplicates_join)
{
    NEW_TRACE(trace);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.node = 1},
        {.node = 1},
        {.parent = 2, .node = 1},
        {.parent = 1, .node = 1},
    };
    uint32_t map[5];
    OK(merge_contexts(trace, contexts, NULL, 5, map));
    EQUAL(map[1], map[2]);
    EQUAL(map[3], map[4]);
    EQUAL(trace->contexts.count, 3);
}

/* Parents in a circle, of themselves, out of range: cut, and it ends. */
TEST(cycles_are_cut)
{
    NEW_TRACE(trace);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.parent = 2, .node = 1, .module = 1},
        {.parent = 3, .node = 1, .module = 2},
        {.parent = 1, .node = 1, .module = 3},
        {.parent = 4, .node = 1, .module = 4},
        {.parent = 99, .node = 1, .module = 5, .origin = UINT32_MAX},
        {.parent = 0, .node = 1, .module = 6, .origin = 7},
        {.parent = 6, .node = 1, .module = 7},
    };
    uint32_t map[8];
    OK(merge_contexts(trace, contexts, NULL, 8, map));
    EQUAL(trace->contexts.count, 8);
    for (uint32_t i = 1; i < 8; i++) {
        CHECK(map[i] != 0);
        CHECK(trace->contexts.list[i].parent < i);
        CHECK(trace->contexts.list[i].origin < i);
    }
}

/* A path as deep as a file can make it needs no C stack. */
TEST(very_deep)
{
    enum { DEPTH = 100000 };
    static fd_trace_context contexts[DEPTH];
    static uint32_t map[DEPTH];
    NEW_TRACE(trace);
    for (uint32_t i = 1; i < DEPTH; i++) {
        contexts[i] = (fd_trace_context){.parent = (i + 1) % DEPTH, .node = 1};
    }
    OK(merge_contexts(trace, contexts, NULL, DEPTH, map));
    EQUAL(trace->contexts.count, DEPTH);
    EQUAL(map[1], DEPTH - 1);
}
