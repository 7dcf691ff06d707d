#include "call_trees.h"
#include "check.h"

#include "profile/diff_joined.h"
#include "profile/totals.h"

/* `twin` is there twice, `same` stands on another line, the rest is new or
 * gone. */
static const tree_call before[] = {
    {USER(0, "a.py::main", 1, 10), .line = 1},
    {USER(1, "a.py::same", 2, 20), .line = 5},
    {USER(1, "a.py::twin", 1, 3), .line = 7},
    {USER(1, "a.py::twin", 1, 4), .line = 9},
    {USER(1, "a.py::gone", 1, 30), .line = 11},
};
static const tree_call after[] = {
    {USER(0, "a.py::main", 1, 11), .line = 1},
    {USER(1, "a.py::same", 4, 50), .line = 6},
    {OP(2, "aten::new", 4, 60)},
    {USER(1, "a.py::same", 1, 5), .line = 6, .rank = 1},
};

typedef struct joining {
    call_tree before;
    call_tree after;
    fd_trace *trace; /* owned */
} joining;

static void
joining_clear(joining *j)
{
    fd_trace_free(j->trace);
    call_tree_clear(&j->before);
    call_tree_clear(&j->after);
}

static fd_status
join(joining *j, int after_rank)
{
    fd_status status = CALL_TREE_OF(&j->before, before);
    if (status == FD_OK) {
        status = CALL_TREE_OF(&j->after, after);
    }
    fd_diff_side sides[2] = {{j->before.trace, FD_ALL_RANKS},
                             {j->after.trace, after_rank}};
    return status == FD_OK ? fd_diff_joined(&j->trace, sides, 2) : status;
}

static fd_figure
figure(const joining *j, uint32_t rank, const char *name)
{
    return fixture_figure(j->trace, rank, fixture_find(j->trace, name));
}

static void
paths_are_those_of_both(void)
{
    CLEAN(joining_clear) joining j = {.trace = NULL};
    OK(join(&j, FD_ALL_RANKS));
    EQUAL(j.trace->contexts.count - 1, 5);
    EQUAL(j.trace->ranks.count, 2);
    EQUAL(figure(&j, 0, "same").self, 20);
    EQUAL(figure(&j, 1, "same").self, 55);
    EQUAL(figure(&j, 1, "same").calls, 5);
    EQUAL(figure(&j, 0, "twin").self, 7);
    EQUAL(figure(&j, 0, "twin").calls, 2);
    EQUAL(figure(&j, 1, "twin").calls, 0);
    EQUAL(figure(&j, 1, "gone").self, 0);
    EQUAL(figure(&j, 0, "aten::new").self, 0);
    EQUAL(figure(&j, 1, "aten::new").self, 60);
    CHECK(fixture_sound(j.trace));
}

static void
lines_are_those_of_now(void)
{
    CLEAN(joining_clear) joining j = {.trace = NULL};
    OK(join(&j, FD_ALL_RANKS));
    const fd_trace *trace = j.trace;
    uint32_t same = trace->contexts.list[fixture_find(trace, "same")].node;
    uint32_t gone = trace->contexts.list[fixture_find(trace, "gone")].node;
    EQUAL(trace->nodes.list[same].line, 6);
    EQUAL(trace->nodes.list[gone].line, 11);
    CHECK(!trace->nodes.list[same].ambiguous);
}

static void
one_rank_of_a_side(void)
{
    CLEAN(joining_clear) joining j = {.trace = NULL};
    OK(join(&j, 1));
    EQUAL(figure(&j, 1, "same").self, 5);
    EQUAL(figure(&j, 1, "aten::new").self, 0);
    EQUAL(figure(&j, 0, "same").self, 20);
}

/* The sums of a side are those it has by itself, backward time too. */
static void
sums_are_those_of_a_side(void)
{
    TRAINED_TRACE(one, 0, "run");
    CLEAN(fixture_trace_free) fd_trace *both = NULL;
    CLEAN(fd_totals_clear) fd_totals alone = {.list = NULL};
    CLEAN(fd_totals_clear) fd_totals joined = {.list = NULL};
    OK(fd_diff_joined(
        &both, (fd_diff_side[2]){{one, FD_ALL_RANKS}, {one, FD_ALL_RANKS}},
        2));
    EQUAL(both->contexts.count, one->contexts.count);
    EQUAL(both->ranks.list[1].steps, one->ranks.list[0].steps);
    OK(fd_totals_sum_steady(&alone, one, FD_ALL_RANKS));
    OK(fd_totals_sum(&joined, both, 1));
    for (uint32_t i = 1; i < one->contexts.count; i++) {
        EQUAL(joined.list[i].total, alone.list[i].total);
        EQUAL((uint64_t)joined.list[i].backward,
              (uint64_t)alone.list[i].backward);
        EQUAL(joined.list[i].calls, alone.list[i].calls);
    }
}

/* Of each pair of ranks that is asked for two ranks more. */
static void
pairs_of_ranks(void)
{
    CLEAN(joining_clear) joining j = {.trace = NULL};
    OK(CALL_TREE_OF(&j.before, before));
    OK(CALL_TREE_OF(&j.after, after));
    fd_diff_side sides[] = {{j.before.trace, FD_ALL_RANKS},
                            {j.after.trace, FD_ALL_RANKS},
                            {j.before.trace, 0},
                            {j.after.trace, 1}};
    OK(fd_diff_joined(&j.trace, sides, 4));
    EQUAL(j.trace->ranks.count, 4);
    EQUAL(j.trace->ranks.list[3].world, 4);
    EQUAL(figure(&j, 1, "same").self, 55);
    EQUAL(figure(&j, 2, "same").self, 20);
    EQUAL(figure(&j, 3, "same").self, 5);
    EQUAL(figure(&j, 3, "aten::new").self, 0);
    CHECK(fixture_sound(j.trace));
}

RUN(TEST(paths_are_those_of_both), TEST(lines_are_those_of_now),
    TEST(one_rank_of_a_side), TEST(pairs_of_ranks),
    TEST(sums_are_those_of_a_side))
