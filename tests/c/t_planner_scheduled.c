#include "models.h"

#include "planner/scheduled.h"

#include <math.h>

/* A chain of 4: 4, 1, 1, 2 ms, a half of them forward. */
#define LAYER(half) FIGURES(half, half, 1000, 1000)
#define CHAIN                                                                 \
    NODE("a", LAYER(2)) NODE("b", LAYER(0.5)) NODE("c", LAYER(0.5))           \
    NODE("d", LAYER(1)) "\ta -- b\n\tb -- c\n\tc -- d\n"

typedef struct chained {
    fd_model model;
    fd_layers layers;
    fd_states states;
    fd_costs costs;
} chained;

static void
clear_chained(chained *c)
{
    fd_states_clear(&c->states);
    fd_layers_clear(&c->layers);
    fd_model_clear(&c->model);
}

static fd_status
make(chained *c, uint32_t machines)
{
    *c = (chained){.costs = {.levels = 1,
                             .machines = {machines},
                             .bandwidths = {1e9}}};
    fd_status status = model_of(&c->model, CHAIN, NULL);
    if (status == FD_OK) {
        status = fd_layers_make(&c->layers, &c->model, NULL);
    }
    fd_states_window all = {.found = 100, .kept = 100, .cap = INFINITY};
    return status == FD_OK
               ? fd_states_make(&c->states, &c->model, &c->layers, &all)
               : status;
}

static bool
near(double seconds, double ms)
{
    return fabs(seconds - ms / 1000) < 1e-12;
}

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
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(make(&c, 2));
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
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(make(&c, 2));
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
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    CLEAN(fd_scheduled_clear) fd_scheduled none = {.bound = 0};
    OK(make(&c, 2));
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

/* One step of search looks at the beginnings alone: a plan, and a bound. */
static void
little_effort(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_scheduled_clear) fd_scheduled found = {.bound = 0};
    OK(make(&c, 3));
    OK(find(&found, &c,
            (fd_scheduled_request){.schedule = FD_SCHEDULE_1F1B,
                                   .micro_batches = 4,
                                   .effort = 1}));
    CHECK(isfinite(found.best.time));
    CHECK(found.bound > 0 && found.bound <= found.best.time);
}

RUN(TEST(the_shortest_step), TEST(several_parts_a_rank),
    TEST(cuts_that_may_not_be), TEST(little_effort))
