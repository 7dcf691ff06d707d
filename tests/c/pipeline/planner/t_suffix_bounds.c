#include "chains.h"

#include "pipeline/planner/suffix_bounds.h"

#include <math.h>

static void
bounds_of_suffixes(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_suffix_bounds_clear) fd_suffix_bounds bounds = {.machines = 0};
    OK(chained_make(&c, 2));
    c.costs.straight = true;
    fd_suffix_bounds_request request = {.states = &c.states,
                                        .costs = &c.costs,
                                        .micro_batches = 3,
                                        .cap = INFINITY};
    OK(fd_suffix_bounds_make(&bounds, &request));
    /* 3 times 5 on the first; 5 there and back and 3 times 3 are less. */
    CHECK(near(fd_suffix_bounds_at(&bounds, FD_NO_STATE, 1)[2], 15));
    CHECK(near(fd_suffix_bounds_at(&bounds, FD_NO_STATE, 1)[1], 24));
    CHECK(near(fd_suffix_bounds_at(&bounds, 0, 1)[1], 12));
    CHECK(isinf(fd_suffix_bounds_at(&bounds, 2, 1)[2]));
    CHECK(isinf(fd_suffix_bounds_at(&bounds, 3, 0)[1]));
    CHECK(near(fd_suffix_bounds_at(&bounds, 3, 0)[0], 0));
}

static void
above_the_cap(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_suffix_bounds_clear) fd_suffix_bounds bounds = {.machines = 0};
    OK(chained_make(&c, 2));
    fd_suffix_bounds_request request = {.states = &c.states,
                                        .costs = &c.costs,
                                        .micro_batches = 3,
                                        .cap = 0.001};
    OK(fd_suffix_bounds_make(&bounds, &request));
    CHECK(isinf(fd_suffix_bounds_at(&bounds, FD_NO_STATE, 1)[2]));
}

RUN(TEST(bounds_of_suffixes), TEST(above_the_cap))
