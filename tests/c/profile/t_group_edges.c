#include "check.h"
#include "fixtures.h"

#include "profile/group_edges.h"

#include <string.h>

static void
edges_clear(fd_edges *edges)
{
    fd_vector_clear(edges);
}

#define NO_EDGES(groups, edges) \
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL}; \
    CLEAN(edges_clear) fd_edges edges = {NULL, 0, 0}

static fd_status
graph(const fd_trace *trace, fd_grouping grouping, fd_groups *groups,
      fd_edges *edges)
{
    fd_totals totals;
    fd_status status = fd_totals_sum(&totals, trace, FD_ALL_RANKS);
    if (status == FD_OK) {
        status = fd_groups_make(groups, trace, grouping);
    }
    if (status == FD_OK) {
        status = fd_edges_sum(edges, trace, groups, &totals);
    }
    fd_totals_clear(&totals);
    return status;
}

/* The edge between two labels; "" means no caller. */
static fd_edge
edge_of(const fd_edges *edges, const fd_groups *groups, const char *caller,
        const char *callee)
{
    for (uint32_t i = 0; i < edges->count; i++) {
        const fd_edge *edge = &edges->list[i];
        const char *from =
            edge->caller == 0 ? "" : fd_groups_label(groups, edge->caller);
        if (strcmp(from, caller) == 0
            && strcmp(fd_groups_label(groups, edge->callee), callee) == 0) {
            return *edge;
        }
    }
    return (fd_edge){.caller = UINT32_MAX};
}

static void
edges_of_a_recording(void)
{
    TRAINED_TRACE(trace, 0, NULL);
    NO_EDGES(groups, edges);
    OK(graph(trace, FD_BY_NODE, &groups, &edges));
    EQUAL(edges.count, 11);
    fd_edge edge = edge_of(&edges, &groups, "model.py:[GPT]:forward",
                           "model.py:[Block]:forward");
    EQUAL(edge.calls, 4);
    EQUAL(edge.total, 380);
    edge = edge_of(&edges, &groups, "", "main");
    EQUAL(edge.total, 950);
    for (uint32_t i = 1; i < edges.count; i++) {
        const fd_edge *a = &edges.list[i - 1];
        const fd_edge *b = &edges.list[i];
        CHECK(a->caller < b->caller
              || (a->caller == b->caller && a->callee < b->callee));
    }
}

/* Contexts without a group are contracted: callees of operators become callees
 * of their callers. */
static void
contraction(void)
{
    NEW_TRACE(trace);
    NO_EDGES(groups, edges);
    uint32_t a;
    uint32_t op;
    uint32_t b;
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "a", 1, 1, &a));
    OK(fixture_add(trace, a, FD_NODE_OP, "op", 1, 2, &op));
    OK(fixture_add(trace, op, FD_NODE_PYTHON, "b", 3, 4, &b));
    trace->ranks.list[0].figures.list[2].resumes = 2;
    OK(graph(trace, FD_BY_FUNCTION, &groups, &edges));
    EQUAL(edges.count, 2);
    fd_edge edge = edge_of(&edges, &groups, ":[]:a", ":[]:b");
    CHECK(edge.calls == 3 && edge.resumes == 2);
    EQUAL(edge.total, 4);
    EQUAL(edge_of(&edges, &groups, "", ":[]:a").total, 7);
}

/* f -> g -> f -> g: the inner f -> g lies within the outer one. */
static void
nested_edges_count_once(void)
{
    NEW_TRACE(trace);
    NO_EDGES(groups, edges);
    uint32_t at = 0;
    for (int i = 0; i < 4; i++) {
        OK(fixture_add(trace, at, FD_NODE_PYTHON, i % 2 == 0 ? "f" : "g", 1,
                       10, &at));
    }
    OK(graph(trace, FD_BY_NODE, &groups, &edges));
    EQUAL(edges.count, 3);
    EQUAL(edge_of(&edges, &groups, ":[]:f", ":[]:g").calls, 2);
    EQUAL(edge_of(&edges, &groups, ":[]:f", ":[]:g").total, 30);
    EQUAL(edge_of(&edges, &groups, ":[]:g", ":[]:f").total, 20);
    EQUAL(edge_of(&edges, &groups, "", ":[]:f").total, 40);
}

static void
direct_recursion(void)
{
    NEW_TRACE(trace);
    NO_EDGES(groups, edges);
    uint32_t at = 0;
    for (int i = 0; i < 4; i++) {
        OK(fixture_add(trace, at, FD_NODE_PYTHON, "f", 1, 10, &at));
    }
    OK(graph(trace, FD_BY_NODE, &groups, &edges));
    EQUAL(edge_of(&edges, &groups, ":[]:f", ":[]:f").calls, 3);
    EQUAL(edge_of(&edges, &groups, ":[]:f", ":[]:f").total, 30);
}

RUN(TEST(edges_of_a_recording), TEST(contraction),
    TEST(nested_edges_count_once), TEST(direct_recursion))
