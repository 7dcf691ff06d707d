#include "chains.h"

#include "pipeline/planner/schedule_search.h"

#include <math.h>

static fd_status
find(fd_scheduled *found, const chained *c, fd_scheduled_request request)
{
    request.states = &c->states;
    request.costs = &c->costs;
    request.layers = c->layers.count;
    request.forbidden =
        request.forbidden == 0 ? FD_NO_STATE : request.forbidden - 1;
    return fd_scheduled_find(found, &request, NULL);
}

static void
the_shortest_step(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(chained_make(&c, 2));
    c.costs.straight = true;
    OK(find(&found, &c,
            (fd_scheduled_request){.schedule = FD_SCHEDULE_1F1B,
                                   .micro_batches = 3}));
    CHECK(near(found.best.time, 16));
    CHECK(found.bound >= found.best.time);
    EQUAL(found.best.ranks, 2);
    EQUAL(found.best.ends[0], 0);
}

static void
several_parts_a_rank(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(chained_make(&c, 2));
    c.costs.straight = true;
    OK(find(&found, &c,
            (fd_scheduled_request){.schedule = FD_SCHEDULE_ZB_V,
                                   .micro_batches = 4}));
    EQUAL(found.chunks, 2);
    EQUAL(found.best.count, 4);
    CHECK(found.bound >= found.best.time);
}

static void
cuts_that_may_not_be(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    CLEAN(fd_scheduled_clear) fd_scheduled none = {.bound = 0};
    OK(chained_make(&c, 2));
    c.costs.straight = true;
    OK(find(&found, &c,
            (fd_scheduled_request){.schedule = FD_SCHEDULE_1F1B,
                                   .micro_batches = 3,
                                   .forbidden = 1}));
    CHECK(found.best.ends[0] != 0 && found.best.time >= 0.0159);
    c.costs.machines[0] = 5;
    STATUS(find(&none, &c,
                (fd_scheduled_request){.schedule = FD_SCHEDULE_1F1B,
                                       .micro_batches = 3}),
           FD_EINVAL);
}

/* One step of search evaluates the initial solutions only: a plan, and a bound. */
static void
little_effort(void)
{
    CLEAN(chained_clear) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(chained_make(&c, 3));
    OK(find(&found, &c,
            (fd_scheduled_request){.schedule = FD_SCHEDULE_1F1B,
                                   .micro_batches = 4,
                                   .effort = 1}));
    CHECK(isfinite(found.best.time));
    CHECK(found.bound > 0 && found.bound <= found.best.time);
}

RUN(TEST(the_shortest_step), TEST(several_parts_a_rank),
    TEST(cuts_that_may_not_be), TEST(little_effort))
