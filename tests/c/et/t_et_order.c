#include "traces.h"

#include "et/et_steps.h"

#include <string.h>

static void
make(fd_et *et, uint32_t nodes, const fd_et_edge *edges, size_t count)
{
    for (uint32_t i = 0; i < nodes; i++) {
        fd_et_node *node = fd_et_add(et);
        node->id = 10 + i;
        node->parent_id = i == 0 ? 10 : 10 + i - 1;
    }
    fd_et_finish(et);
    for (size_t i = 0; i < count; i++) {
        fd_arena_push(&et->arena, &et->edges, edges[i]);
    }
    fd_et_sort_edges(et);
}

/* 2 has to come before 1: all get new ids, and what refers to them follows. */
TEST(renumbered)
{
    static const fd_et_edge edges[] = {{2, 1, 1}, {0, 2, 1}, {1, 3, 1}};
    EMPTY_TRACE(et);
    make(&et, 4, edges, 3);
    et.nodes.list[3].fw_parent = 12;
    et.nodes.list[1].fw_parent = 999;
    fd_et_arrange(&et);
    EQUAL(et.faults.renumbered, 4);
    EQUAL(et.faults.cycles, 0);
    EQUAL(et.nodes.list[1].parent, 3); /* once 12, child of 11 */
    EQUAL(et.nodes.list[3].fw_parent, 2);
    EQUAL(et.nodes.list[2].fw_parent, 0);
    EQUAL(traces_edge(&et, 1, 2), 1);
    EQUAL(traces_edge(&et, 2, 3), 1);
    EQUAL(traces_edge(&et, 3, 4), 1);
    EQUAL(fd_et_index(&et, 4), 4);
    EQUAL(fd_et_index(&et, 13), 0);
}

/* The edge with the lowest certainty is dropped. A cycle of derived edges alone
 * is not a fault of the file, unless they are from it. */
TEST(cycles)
{
    static const fd_et_edge edges[] = {
        {0, 1, 1U << FD_ET_ORDER}, {1, 2, 1U << FD_ET_ORDER},
        {2, 1, 1U << FD_ET_DATA},  {2, 3, 1U << FD_ET_DATA},
        {4, 3, 1U << FD_ET_SYNC},  {3, 4, 1U << FD_ET_LAUNCH}};
    for (unsigned written = 0; written < 2; written++) {
        EMPTY_TRACE(et);
        make(&et, 5, edges, 6);
        et.nodes.list[0].flags |= written != 0 ? FD_ET_WRITTEN : 0;
        fd_et_arrange(&et);
        FIELDS(&et, (faults.cycles, 1 + written),
               (faults.cut[FD_ET_DATA], written), (faults.cut[FD_ET_SYNC], 1),
               (edges.count, 4), (faults.renumbered, 0));
        uint32_t kinds = written != 0 ? 1U << FD_ET_ORDER | 1U << FD_ET_DATA
                                      : 1U << FD_ET_LAUNCH | 1U << FD_ET_SYNC;
        FIELDS(&et.faults.cycle, (kinds, kinds),
               (from, written != 0 ? 12 : 14));
    }
}
