#include "chains.h"
#include "models.h"

#include "pipeline/planner/fastest_split.h"

#include <math.h>

/* A chain of 4, 1, 1, 2, 3, 1 ms of nothing but time. */
#define TIME(ms) FIGURES(ms, 0, 0, 0)
#define CHAIN \
    NODE("a", TIME(4)) \
    NODE("b", TIME(1)) \
    NODE("c", TIME(1)) \
    NODE("d", TIME(2)) \
    NODE("e", TIME(3)) \
    NODE("f", TIME(1)) "\ta -- b\n\tb -- c\n\tc -- d\n\td -- e\n\te -- f\n"

static fd_status
find(fd_optimum *best, fd_arena *arena, const fd_states *states,
     fd_optimum_request *request)
{
    request->states = states;
    request->costs = (fd_costs){
        .levels = 1, .machines = {3}, .bandwidths = {1e9}, .straight = true};
    return fd_optimum_search(best, arena, request);
}

TEST(as_the_optimum)
{
    STATES(states, arena, CHAIN);
    fd_optimum best;
    fd_optimum alone;
    fd_watch watch = {.low = 0};
    fd_optimum_request request = {.cap = INFINITY, .watch = &watch};
    OK(find(&best, &arena, &states, &request));
    CHECK(fabs(best.time - 0.004) < 1e-12);
    CHECK(best.bound >= best.time);
    CHECK(watch.low > 0.003 && watch.low <= watch.high);
    CHECK(fabs(watch.high - 0.004) < 1e-12);
    CHECK(watch.done > 0 && watch.done <= 1);
    OK(fd_optimum_find(&alone, &arena, &request));
    CHECK(fabs(alone.time - best.time) < 1e-12);
    EQUAL(best.stages.count, 3);
}

/* With each step more the bounds are closer, or as they were. */
TEST(effort_ends_the_search)
{
    STATES(states, arena, CHAIN);
    double least = INFINITY;
    bool ended = false;
    for (uint64_t effort = 1; effort < 2000; effort *= 2) {
        fd_optimum best;
        fd_optimum_request request = {.cap = INFINITY, .effort = effort};
        fd_status status = find(&best, &arena, &states, &request);
        if (status == FD_EFULL) {
            CHECK(best.bound <= 0.004);
            EQUAL(best.stages.count, 0);
            ended = true;
            continue;
        }
        OK(status);
        CHECK(best.bound <= best.time && best.time <= least);
        least = best.time;
    }
    CHECK(ended);
    CHECK(fabs(least - 0.004) < 1e-12);
}
