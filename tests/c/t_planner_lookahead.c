#include "models.h"

#include "planner/lookahead.h"

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

static void
what_is_behind(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_lookahead_clear) fd_lookahead ahead = {.machines = 0};
    OK(make(&c, 2));
    c.costs.straight = true;
    fd_lookahead_request request = {.states = &c.states,
                                    .costs = &c.costs,
                                    .micro_batches = 3,
                                    .cap = INFINITY};
    OK(fd_lookahead_make(&ahead, &request));
    /* 3 times 5 on the first; 5 there and back and 3 times 3 are less. */
    CHECK(near(fd_lookahead_at(&ahead, FD_NO_STATE, 1)[2], 15));
    CHECK(near(fd_lookahead_at(&ahead, FD_NO_STATE, 1)[1], 24));
    CHECK(near(fd_lookahead_at(&ahead, 0, 1)[1], 12));
    CHECK(isinf(fd_lookahead_at(&ahead, 2, 1)[2]));
    CHECK(isinf(fd_lookahead_at(&ahead, 3, 0)[1]));
    CHECK(near(fd_lookahead_at(&ahead, 3, 0)[0], 0));
}

static void
above_the_cap(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_lookahead_clear) fd_lookahead ahead = {.machines = 0};
    OK(make(&c, 2));
    fd_lookahead_request request = {.states = &c.states,
                                    .costs = &c.costs,
                                    .micro_batches = 3,
                                    .cap = 0.001};
    OK(fd_lookahead_make(&ahead, &request));
    CHECK(isinf(fd_lookahead_at(&ahead, FD_NO_STATE, 1)[2]));
}

RUN(TEST(what_is_behind), TEST(above_the_cap))
