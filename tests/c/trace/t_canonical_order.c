#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

#include <string.h>

/* A tree with siblings of all kinds, in an order that the seed decides. */
enum { COUNT = 40 };

static void
shuffle(uint32_t *list, uint32_t count, uint32_t seed)
{
    for (uint32_t i = count; i > 1; i--) {
        seed = seed * 1664525 + 1013904223;
        uint32_t k = (seed >> 8) % i;
        uint32_t swapped = list[i - 1];
        list[i - 1] = list[k];
        list[k] = swapped;
    }
}

static fd_status
add_nodes(fd_trace *trace, const uint32_t *order, uint32_t *ids)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < COUNT && status == FD_OK; i++) {
        uint32_t n = order[i];
        char name[3] = {(char)('a' + n % 5), (char)('a' + n % 7), '\0'};
        fd_trace_node node = {.kind = (uint8_t)(1 + n % 3), .line = n % 2};
        status = fd_text_pool_add(&trace->texts, name, 2, &node.name);
        fd_then(status, fd_trace_add_node(trace, &node, &ids[n]));
    }
    return status;
}

/* Context n hangs below n / 3, with an origin far away; places are
 * shuffled. */
static fd_status
scrambled(fd_trace **made, uint32_t seed)
{
    uint32_t order[COUNT];
    uint32_t nodes[COUNT] = {0};
    uint32_t index[COUNT];
    uint32_t map[COUNT + 1];
    fd_trace_context contexts[COUNT + 1] = {{.node = 0}};
    fd_trace *trace = *made = fd_trace_new();
    if (trace == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        order[i] = i;
        index[i] = i + 1;
    }
    shuffle(order, COUNT, seed);
    shuffle(index, COUNT, seed + 1);
    fd_status status = add_nodes(trace, order, nodes);
    for (uint32_t n = 0; n < COUNT; n++) {
        contexts[index[n]] =
            (fd_trace_context){.parent = n < 3 ? 0 : index[n / 3],
                               .node = nodes[n % 11],
                               .origin = n % 4 == 3 ? index[n / 2] : 0};
    }
    fd_then(status, fd_contexts_merge(trace, contexts, NULL, COUNT + 1, map));
    fd_trace_rank *rank = status == FD_OK ? fd_trace_add_rank(trace) : NULL;
    for (uint32_t i = 0; i < COUNT && rank != NULL && status == FD_OK; i++) {
        fd_figure figure = {.context = map[index[order[i]]],
                            .calls = order[i] + 1};
        status = fd_vector_push(&rank->figures, figure);
    }
    return rank == NULL ? FD_ENOMEM : status;
}

TEST(order_does_not_matter)
{
    CLEAN(fixture_trace_free) fd_trace *first = NULL;
    OK(scrambled(&first, 0));
    OK(fd_trace_sort(first));
    CHECK(fixture_sound(first));
    for (uint32_t seed = 1; seed < 12; seed++) {
        CLEAN(fixture_trace_free) fd_trace *other = NULL;
        OK(scrambled(&other, seed));
        OK(fd_trace_sort(other));
        CHECK(fixture_same(first, other));
    }
}

/* Figures move with their contexts; parents come first, depth first. */
TEST(everything_moves_along)
{
    NEW_TRACE(trace);
    uint32_t root;
    uint32_t z;
    uint32_t a;
    uint32_t below;
    OK(fixture_add(trace, 0, FD_NODE_THREAD, "main", 1, 1, &root));
    OK(fixture_add(trace, root, FD_NODE_OP, "z", 2, 20, &z));
    OK(fixture_add(trace, root, FD_NODE_OP, "a", 3, 30, &a));
    OK(fixture_add(trace, z, FD_NODE_OP, "m", 4, 40, &below));
    fd_trace_rank *rank = &trace->ranks.list[0];
    OK(fd_vector_push(&rank->open, (fd_open_call){0, below, 5, 0}));
    OK(fd_vector_push(&rank->tops, (fd_trace_top){0, z, 6}));
    OK(fd_vector_push(&rank->threads, (fd_trace_thread){.root = root}));
    OK(fd_trace_sort(trace));
    EQUAL(fixture_find(trace, "main"), 1);
    EQUAL(fixture_find(trace, "a"), 2);
    EQUAL(fixture_find(trace, "z"), 3);
    EQUAL(fixture_find(trace, "m"), 4);
    rank = &trace->ranks.list[0];
    EQUAL(fixture_figure(trace, 0, 2).self, 30);
    EQUAL(fixture_figure(trace, 0, 4).self, 40);
    FIELDS(rank, (open.list[0].context, 4), (tops.list[0].context, 3),
           (threads.list[0].root, 1));
    CHECK(trace->sorted);
}

/* Nodes and modules without a context are dropped, with their texts. */
TEST(unused_is_dropped)
{
    NEW_TRACE(trace);
    uint32_t id;
    fd_trace_node unused = {.kind = FD_NODE_OP};
    fd_trace_module outer = {.parent = 0};
    fd_trace_context context = {.flags = 0};
    OK(fixture_text(trace, "unused", &unused.name));
    OK(fd_trace_add_node(trace, &unused, &id));
    OK(fixture_add(trace, 0, FD_NODE_OP, "op", 1, 1, &id));
    context.node = trace->contexts.list[id].node;
    outer.name = unused.name;
    OK(fd_trace_add_module(trace, &outer, &id));
    OK(fixture_text(trace, "used", &outer.name));
    OK(fd_trace_add_module(trace, &outer, &id));
    fd_trace_module inner = {.parent = id, .name = outer.name};
    OK(fd_trace_add_module(trace, &inner, &context.module));
    OK(fd_trace_add_context(trace, &context, &id));
    OK(fd_trace_sort(trace));
    FIELDS(trace, (nodes.count, 2), (modules.count, 3),
           (modules.list[2].parent, 1), (texts.texts.count, 3));
}

TEST(ambiguous_keys)
{
    NEW_TRACE(trace);
    uint32_t id;
    for (uint32_t line = 1; line <= 3; line++) {
        fd_trace_node node = {.kind = FD_NODE_PYTHON,
                              .line = line < 3 ? line : 1};
        fd_trace_context context = {.flags = 0};
        OK(fd_text_pool_add(&trace->texts, line < 3 ? "twice" : "once",
                            line < 3 ? 5 : 4, &node.name));
        OK(fd_trace_add_node(trace, &node, &context.node));
        OK(fd_trace_add_context(trace, &context, &id));
    }
    OK(fd_trace_sort(trace));
    EQUAL(trace->nodes.count, 4);
    for (uint32_t i = 1; i < 4; i++) {
        const fd_trace_node *node = &trace->nodes.list[i];
        bool twice = strcmp(fd_trace_text(trace, node->name), "twice") == 0;
        EQUAL(node->ambiguous, twice);
    }
}

TEST(ranks_in_order)
{
    NEW_TRACE(trace);
    for (uint32_t i = 0; i < 5; i++) {
        fd_trace_rank *rank = fd_trace_add_rank(trace);
        ALLOCATED(rank != NULL);
        rank->rank = i * 3 % 5;
    }
    OK(fd_trace_sort(trace));
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(trace->ranks.list[i].rank, i);
    }
    OK(fd_trace_sort(trace));
}
