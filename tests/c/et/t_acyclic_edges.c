#include "traces.h"

#include "et/et_steps.h"

static void
make(fd_et *et, uint32_t nodes, uint32_t *order)
{
    for (uint32_t i = 0; i < nodes; i++) {
        fd_et_add(et);
        order[i] = i;
    }
}

TEST(closes)
{
    EMPTY_TRACE(et);
    uint32_t order[5];
    make(&et, 5, order);
    fd_et_add_edge(&et, 0, 1, FD_ET_ORDER);
    fd_et_add_edge(&et, 3, 4, FD_ET_ORDER);
    fd_et_add_edge(&et, 4, 0, FD_ET_DATA); /* against the order */
    fd_et_add_edge(&et, 1, 3, FD_ET_DATA); /* closes 0 1 3 4 */
    fd_et_add_edge(&et, 1, 2, FD_ET_GROUP);
    fd_et_add_edge(&et, 2, 3, FD_ET_GROUP); /* closes 0 1 2 3 4 */
    fd_et_keep_acyclic(&et, order, 2);
    EQUAL(et.edges.count, 4);
    EQUAL(et.edges.list[2].from, 4);
    EQUAL(et.edges.list[3].to, 2);
}

/* Whether `to` is reached from `from`: by a matrix of 16 nodes. */
static bool
reaches(const uint16_t *after, uint32_t from, uint32_t to)
{
    uint16_t seen = (uint16_t)(1U << from);
    for (uint16_t old = 0; old != seen;) {
        old = seen;
        for (uint32_t i = 0; i < 16; i++) {
            seen |= (seen & 1U << i) != 0 ? after[i] : 0;
        }
    }
    return (seen & 1U << to) != 0;
}

/* Exactly the edges that close a cycle with those kept before are dropped. */
TEST(random_graphs)
{
    uint32_t state = 1;
    for (int round = 0; round < 50; round++) {
        EMPTY_TRACE(et);
        uint16_t after[16] = {0};
        uint32_t order[16];
        uint32_t kept = 0;
        fd_et_edge wanted[60];
        make(&et, 16, order);
        for (int i = 0; i < 60; i++) {
            state = state * 1664525 + 1013904223;
            uint32_t from = state >> 28;
            uint32_t to = state >> 20 & 15;
            if (from == to) {
                continue;
            }
            fd_et_add_edge(&et, from, to, FD_ET_DATA);
            if (!reaches(after, to, from)) {
                after[from] |= (uint16_t)(1U << to);
                wanted[kept++] = (fd_et_edge){from, to, 1U << FD_ET_DATA};
            }
        }
        fd_et_keep_acyclic(&et, order, 0);
        EQUAL(et.edges.count, kept);
        for (uint32_t i = 0; i < kept; i++) {
            EQUAL(et.edges.list[i].from, wanted[i].from);
            EQUAL(et.edges.list[i].to, wanted[i].to);
        }
    }
}
