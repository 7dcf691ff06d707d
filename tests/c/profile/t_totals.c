#include "check.h"
#include "fixtures.h"

#include "profile/totals.h"
#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

TEST(sums_of_a_recording)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    OK(fd_totals_sum(&totals, trace, FD_ALL_RANKS, false));
    const fd_total *train = &totals.list[fixture_find(trace, "train")];
    const fd_total *forward = &totals.list[fixture_find(trace, "forward")];
    FIELDS(train, (total, 950), (self, 400), (total_stepped, 950), (ops, 6));
    EQUAL(forward->total, 480);
    EQUAL(totals.list[fixture_find(trace, "main")].total, 950);
    EQUAL(totals.steps, 2);
    EQUAL(forward->steps, 2);
}

/* Backward time returns to the forward call that made it, and its callers. */
TEST(backward_attribution)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    OK(fd_totals_sum(&totals, trace, 0, false));
    uint32_t linear = fixture_find(trace, "aten::linear");
    FIELDS(&totals, (list[linear].backward, 2 * (70 + 25)),
           (list[trace->contexts.list[linear].parent].backward, 190),
           (list[fixture_find(trace, "train")].backward, 2 * (70 + 25 + 80)),
           (list[fixture_find(trace, "step")].backward, 0));
}

/* Checkpointing: an autograd node that runs autograd nodes counts once in what
 * encloses both forward calls. */
TEST(nested_backward)
{
    NEW_TRACE(trace);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    uint32_t train;
    uint32_t outer;
    uint32_t inner;
    uint32_t back;
    uint32_t again;
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "train", 1, 0, &train));
    OK(fixture_add(trace, train, FD_NODE_OP, "checkpoint", 1, 0, &outer));
    OK(fixture_add(trace, train, FD_NODE_OP, "mm", 1, 0, &inner));
    OK(fixture_add(trace, 0, FD_NODE_AUTOGRAD, "CheckpointBackward", 1, 100,
                   &back));
    OK(fixture_add(trace, back, FD_NODE_AUTOGRAD, "MmBackward", 1, 40,
                   &again));
    trace->contexts.list[back].origin = outer;
    trace->contexts.list[again].origin = inner;
    OK(fd_totals_sum(&totals, trace, 0, false));
    FIELDS(&totals, (list[outer].backward, 140), (list[inner].backward, 40),
           (list[train].backward, 140));
}

TEST(asynchronous_is_apart)
{
    NEW_TRACE(trace);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    uint32_t caller;
    uint32_t work;
    OK(fixture_add(trace, 0, FD_NODE_OP, "caller", 1, 7, &caller));
    OK(fixture_add(trace, caller, FD_NODE_OP, "work", 1, 1000, &work));
    trace->contexts.list[work].flags = FD_CONTEXT_ASYNC;
    OK(fd_totals_sum(&totals, trace, 0, false));
    FIELDS(&totals, (list[caller].total, 7), (list[work].async, 1000),
           (list[work].total, 0), (list[caller].ops, 2));
}

TEST(ranks_one_or_all)
{
    TRAINED_TRACE(one, 0, NULL);
    TRAINED_TRACE(two, 1, NULL);
    NEW_TRACE(both);
    CLEAN(fd_totals_clear) fd_totals all = {.list = NULL};
    CLEAN(fd_totals_clear) fd_totals second = {.list = NULL};
    OK(fixture_merge(both, one, "one", NULL));
    OK(fixture_merge(both, two, "two", NULL));
    OK(fd_trace_sort(both));
    OK(fd_totals_sum(&all, both, FD_ALL_RANKS, false));
    OK(fd_totals_sum(&second, both, 1, false));
    uint32_t train = fixture_find(both, "train");
    FIELDS(&all, (list[train].total, 1900), (steps, 4));
    FIELDS(&second, (list[train].total, 950), (steps, 2));
}

/* Three steps of 500, 30 and 50 ns, 7 ns after the last of them: the slowest
 * counts like the mean of the others, in sums and backward time too. */
TEST(steady_without_the_slowest_step)
{
    NEW_TRACE(trace);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    uint32_t forward;
    uint32_t linear;
    uint32_t back;
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "forward", 3, 9, &forward));
    OK(fixture_add(trace, forward, FD_NODE_OP, "linear", 3, 587, &linear));
    OK(fixture_add(trace, 0, FD_NODE_AUTOGRAD, "Back", 3, 87, &back));
    trace->contexts.list[back].origin = linear;
    fd_figure *figures = trace->ranks.list[0].figures.list;
    figures[0].steps = 1; /* too few to know */
    figures[0].stepped = 9;
    figures[0].self_max = 9;
    figures[1].steps = 3;
    figures[1].stepped = 580;
    figures[1].self_max = 500;
    figures[2].steps = 2;
    figures[2].stepped = 87;
    figures[2].self_max = 90; /* single precision rounds */
    for (int i = 0; i < 3; i++) {
        figures[i].self_min = 20;
    }
    OK(fd_totals_sum(&totals, trace, 0, true));
    EQUAL(totals.list[forward].least, 0); /* of a single step */
    FIELDS(&totals, (list[linear].least, 3 * 20),
           (list[linear].self, 80 + 40 + 7), (list[linear].backward, 0),
           (list[forward].total, 9 + 127), (list[linear].calls, 3));
    fd_totals_clear(&totals);
    OK(fd_totals_sum(&totals, trace, 0, false));
    EQUAL(totals.list[forward].total, 9 + 587);
    EQUAL(totals.list[linear].backward, 87);
}

/* Impossible times of a hostile document wrap around; nothing breaks. */
TEST(impossible_times)
{
    NEW_TRACE(trace);
    CLEAN(fd_totals_clear) fd_totals totals = {.list = NULL};
    uint32_t origin;
    uint32_t back;
    OK(fixture_add(trace, 0, FD_NODE_OP, "op", 1, UINT64_MAX, &origin));
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        OK(fixture_add(trace, 0, FD_NODE_AUTOGRAD, name, 1,
                       (uint64_t)INT64_MAX, &back));
        trace->contexts.list[back].origin = origin;
    }
    OK(fd_totals_sum(&totals, trace, 0, false));
    EQUAL(totals.list[origin].backward, INT64_MAX - 2);
}
