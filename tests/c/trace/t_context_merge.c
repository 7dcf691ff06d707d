#include "check.h"
#include "fixtures.h"

#include "trace/context_merge.h"

static fd_trace *
with_a_node(void)
{
    fd_trace *trace = fd_trace_new();
    fd_trace_node node = {.kind = FD_NODE_OP};
    uint32_t id;
    if (trace != NULL && fd_trace_add_node(trace, &node, &id) != FD_OK) {
        fixture_trace_free(&trace);
    }
    return trace;
}

/* Children before parents, origins far away: ids are in an order that a single
 * pass can use. */
static void
any_order(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = with_a_node();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.parent = 3, .node = 1, .module = 1},
        {.parent = 1, .node = 1, .module = 2, .origin = 4},
        {.parent = 0, .node = 1, .module = 3},
        {.parent = 3, .node = 1, .module = 4},
    };
    uint32_t map[5];
    OK(fd_contexts_merge(trace, contexts, NULL, 5, map));
    EQUAL(trace->contexts.count, 5);
    for (uint32_t i = 1; i < 5; i++) {
        const fd_trace_context *made = &trace->contexts.list[map[i]];
        EQUAL(made->module, i);
        EQUAL(made->parent, map[contexts[i].parent]);
        EQUAL(made->origin, map[contexts[i].origin]);
        CHECK(made->parent < map[i] && made->origin < map[i]);
    }
}

static void
only_what_is_wanted(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = with_a_node();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
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
    OK(fd_contexts_merge(trace, contexts, wanted, 6, map));
    EQUAL(trace->contexts.count, 5);
    EQUAL(map[2], 0);
    CHECK(map[1] != 0 && map[3] != 0 && map[4] != 0 && map[5] != 0);
}

/* Two of the same below the same parent are one. */
static void
duplicates_join(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = with_a_node();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
    fd_trace_context contexts[] = {
        {.node = 0},
        {.node = 1},
        {.node = 1},
        {.parent = 2, .node = 1},
        {.parent = 1, .node = 1},
    };
    uint32_t map[5];
    OK(fd_contexts_merge(trace, contexts, NULL, 5, map));
    EQUAL(map[1], map[2]);
    EQUAL(map[3], map[4]);
    EQUAL(trace->contexts.count, 3);
}

/* Parents in a circle, of themselves, out of range: cut, and it ends. */
static void
cycles_are_cut(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = with_a_node();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
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
    OK(fd_contexts_merge(trace, contexts, NULL, 8, map));
    EQUAL(trace->contexts.count, 8);
    for (uint32_t i = 1; i < 8; i++) {
        CHECK(map[i] != 0);
        CHECK(trace->contexts.list[i].parent < i);
        CHECK(trace->contexts.list[i].origin < i);
    }
}

/* A path as deep as a file can make it needs no C stack. */
static void
very_deep(void)
{
    enum { DEPTH = 100000 };
    static fd_trace_context contexts[DEPTH];
    static uint32_t map[DEPTH];
    CLEAN(fixture_trace_free) fd_trace *trace = with_a_node();
    OK(trace != NULL ? FD_OK : FD_ENOMEM);
    for (uint32_t i = 1; i < DEPTH; i++) {
        contexts[i] = (fd_trace_context){.parent = (i + 1) % DEPTH, .node = 1};
    }
    OK(fd_contexts_merge(trace, contexts, NULL, DEPTH, map));
    EQUAL(trace->contexts.count, DEPTH);
    EQUAL(map[1], DEPTH - 1);
}

RUN(TEST(any_order), TEST(only_what_is_wanted), TEST(duplicates_join),
    TEST(cycles_are_cut), TEST(very_deep))
