#include "chains.h"

#include "pipeline/planner/initial_solutions.h"

#include <math.h>

static void
the_asynchronous_one_is_tried(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_evaluator_clear) fd_evaluator evaluator = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain best = {.count = 0};
    CLEAN(fd_chain_clear) fd_chain now = {.count = 0};
    CLEAN(fd_optimum_clear) fd_optimum optimum = {.time = 0};
    OK(chained_make(&c, 2));
    OK(chained_evaluator(&evaluator, &c));
    OK(fd_chain_make(&best, evaluator.most_parts));
    OK(fd_chain_make(&now, evaluator.most_parts));
    fd_optimum_request asked = {.states = &c.states,
                                .costs = c.costs,
                                .forbidden = FD_NO_STATE,
                                .cap = INFINITY};
    OK(fd_optimum_find(&optimum, &asked, NULL));
    fd_initial_request request = {
        .best = &best, .now = &now, .asynchronous = &optimum, .effort = 1000};
    OK(fd_initial_solutions(&evaluator, &request));
    CHECK(near(request.asynchronous_step, 20));
    CHECK(best.time <= request.asynchronous_step);
}

/* 18 machines: every second number of ranks, and one rank. */
static void
data_parallelism_is_tried(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_evaluator_clear) fd_evaluator evaluator = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain best = {.count = 0};
    CLEAN(fd_chain_clear) fd_chain now = {.count = 0};
    OK(chained_make(&c, 18));
    OK(chained_evaluator(&evaluator, &c));
    fd_initial_request request = {.best = &best, .now = &now, .effort = 0};
    OK(fd_chain_make(&best, evaluator.most_parts));
    OK(fd_chain_make(&now, evaluator.most_parts));
    OK(fd_initial_solutions(&evaluator, &request));
    EQUAL(best.ranks, 1);
    EQUAL(best.machines[0], 18);
}

RUN(TEST(the_asynchronous_one_is_tried), TEST(data_parallelism_is_tried))
