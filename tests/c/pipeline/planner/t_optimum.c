#include "chains.h"
#include "models.h"

#include "pipeline/planner/optimum.h"

#include <math.h>

/* A chain of 4: 4, 1, 1, 2 ms of nothing but time. */
#define TIME(ms) FIGURES(ms, 0, 0, 0)
#define CHAIN \
    NODE("a", TIME(4)) \
    NODE("b", TIME(1)) \
    NODE("c", TIME(1)) NODE("d", TIME(2)) "\ta -- b\n\tb -- c\n\tc -- d\n"

static fd_status
find(fd_optimum *optimum, fd_arena *arena, const fd_states *states,
     fd_optimum_request *request)
{
    request->states = states;
    request->cap = request->cap > 0 ? request->cap : INFINITY;
    return fd_optimum_find(optimum, arena, request);
}

#define ON(count) \
    { \
        .costs = {.levels = 1, .machines = {count}, .bandwidths = {1e9} } \
    }

static bool
takes(const fd_optimum *optimum, double ms)
{
    return fabs(optimum->time - ms / 1000) < 1e-12;
}

TEST(no_plan_below_the_cap)
{
    STATES(states, arena, CHAIN);
    fd_optimum none;
    fd_optimum_request request = ON(2);
    request.costs.straight = true;
    request.cap = 0.0039;
    STATUS(find(&none, &arena, &states, &request), FD_EINVAL);
}

TEST(two_levels)
{
    STATES(states, arena, CHAIN);
    fd_optimum optimum;
    fd_optimum_request request = {.costs = {.levels = 2,
                                            .machines = {2, 2},
                                            .bandwidths = {1e9, 1e9},
                                            .straight = true}};
    OK(find(&optimum, &arena, &states, &request));
    CHECK(takes(&optimum, 4));
    uint32_t outer = 0;
    for (uint32_t i = 0; i < optimum.stages.count; i++) {
        const fd_stage *stage = &optimum.stages.list[i];
        outer += stage->level == 1;
        CHECK(stage->level == 1
              || optimum.stages.list[stage->parent].level == 1);
    }
    EQUAL(outer, 2);
    EQUAL(optimum.stages.count, 6);
}
