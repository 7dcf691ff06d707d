#include "traces.h"

static void
add(fd_et *et, uint64_t id, uint64_t parent)
{
    fd_et_node *node = fd_et_add(et);
    node->id = id;
    node->parent_id = parent;
}

TEST(sorted)
{
    EMPTY_TRACE(et);
    add(&et, 9, 3);
    add(&et, 3, 1);
    add(&et, 1, 1);
    fd_arena_push(&et.arena, &et.given,
                  (fd_et_given){0, 1U << FD_ET_GIVEN, 3});
    fd_arena_push(&et.arena, &et.given,
                  (fd_et_given){0, 1U << FD_ET_GIVEN, 77});
    fd_et_finish(&et);
    EQUAL(et.nodes.list[0].id, 1);
    EQUAL(et.nodes.list[2].id, 9);
    EQUAL(et.nodes.list[2].parent, 2);
    EQUAL(et.nodes.list[0].parent, 0);
    EQUAL(et.edges.count, 1);
    EQUAL(et.edges.list[0].from, 1);
    EQUAL(et.edges.list[0].to, 2);
    EQUAL(et.faults.dangling, 1);
    EQUAL(et.faults.orphans, 0);
}

TEST(damaged)
{
    EMPTY_TRACE(et);
    add(&et, 1, 1);
    add(&et, 5, 1);
    add(&et, 5, 1);  /* again */
    add(&et, 7, 66); /* whose parent is not there */
    add(&et, 8, 9);  /* round in a circle */
    add(&et, 9, 8);
    fd_et_finish(&et);
    EQUAL(et.nodes.count, 6);
    EQUAL(et.faults.duplicates, 1);
    EQUAL(et.nodes.list[5].id, 10);
    EQUAL(et.faults.orphans, 2);
    for (uint32_t i = 0; i < et.nodes.count; i++) {
        uint32_t steps = 0;
        for (uint32_t at = i + 1; at != 0; steps++) {
            at = et.nodes.list[at - 1].parent;
        }
        CHECK(steps < 4);
    }
}

TEST(kinds_of_one_pair)
{
    EMPTY_TRACE(et);
    fd_et_add_edge(&et, 0, 1, FD_ET_DATA);
    fd_et_add_edge(&et, 1, 1, FD_ET_DATA); /* none */
    fd_et_add_edge(&et, 0, 1, FD_ET_ORDER);
    fd_et_sort_edges(&et);
    EQUAL(et.edges.count, 1);
    EQUAL(et.edges.list[0].kinds, 1 << FD_ET_DATA | 1 << FD_ET_ORDER);
}

/* A tenth of the work at most is seen too late. */
TEST(overlaps)
{
    EQUAL(fd_et_overlap(100, 50, 150), 0);
    EQUAL(fd_et_overlap(100, 50, 170), 0);
    EQUAL(fd_et_overlap(100, 50, 145), 5);
    EQUAL(fd_et_overlap(100, 50, 144), INT64_MAX);
    EQUAL(fd_et_overlap(100, 50, 90), INT64_MAX);
}

TEST(lists)
{
    static const char spaced[] =
        "[\r\n 1 ,\t[2, \"a \\\" b\"],\n{\"c d\": \"\\\\\" } ]";
    EMPTY_TRACE(et);
    uint32_t text = fd_et_add_json(&et, traces_span(spaced));
    SAME(fd_et_text(&et, text), "[1,[2,\"a \\\" b\"],{\"c d\":\"\\\\\"}]");
    text = fd_et_add_json(&et, traces_span("["));
    SAME(fd_et_text(&et, text), "[");
}
