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
find(fd_optimum *optimum, fd_optimum_request *request)
{
    MODEL(model, CHAIN);
    fd_layers layers = {.count = 0};
    fd_states states = {.count = 0};
    *optimum = (fd_optimum){.time = 0};
    request->cap = request->cap > 0 ? request->cap : INFINITY;
    fd_status status = fd_layers_make(&layers, &model, NULL);
    if (status == FD_OK) {
        fd_states_limits all = {.found = 100, .kept = 100, .cap = INFINITY};
        status = fd_states_make(&states, &model, &layers, &all);
    }
    if (status == FD_OK) {
        request->states = &states;
        status = fd_optimum_find(optimum, request, NULL);
    }
    fd_states_clear(&states);
    fd_layers_clear(&layers);
    return status;
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
    CLEAN(fd_optimum_clear) fd_optimum none = {.time = 0};
    fd_optimum_request request = ON(2);
    request.costs.straight = true;
    request.cap = 0.0039;
    STATUS(find(&none, &request), FD_EINVAL);
}

TEST(two_levels)
{
    CLEAN(fd_optimum_clear) fd_optimum optimum = {.time = 0};
    fd_optimum_request request = {.costs = {.levels = 2,
                                            .machines = {2, 2},
                                            .bandwidths = {1e9, 1e9},
                                            .straight = true}};
    OK(find(&optimum, &request));
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
