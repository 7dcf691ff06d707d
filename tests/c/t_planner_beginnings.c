#include "models.h"

#include "planner/beginnings.h"

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
make_trial(fd_trial *trial, const chained *c)
{
    *trial = (fd_trial){.states = &c->states,
                        .costs = &c->costs,
                        .schedule = FD_SCHEDULE_1F1B,
                        .micro_batches = 4,
                        .forbidden = FD_NO_STATE,
                        .most_ranks = c->costs.machines[0]};
    return fd_trial_make(trial, NULL);
}

static void
the_asynchronous_one_is_tried(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_trial_clear) fd_trial trial = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain best = {.count = 0};
    CLEAN(fd_chain_clear) fd_chain now = {.count = 0};
    CLEAN(fd_optimum_clear) fd_optimum optimum = {.time = 0};
    OK(make(&c, 2));
    OK(make_trial(&trial, &c));
    OK(fd_chain_make(&best, trial.most_parts));
    OK(fd_chain_make(&now, trial.most_parts));
    fd_optimum_request asked = {.states = &c.states,
                                .costs = c.costs,
                                .forbidden = FD_NO_STATE,
                                .cap = INFINITY};
    OK(fd_optimum_find(&optimum, &asked, NULL));
    fd_beginnings_request request = {.best = &best,
                                     .now = &now,
                                     .asynchronous = &optimum,
                                     .effort = 1000};
    OK(fd_beginnings_try(&trial, &request));
    CHECK(near(request.played, 20));
    CHECK(best.time <= request.played);
}

RUN(TEST(the_asynchronous_one_is_tried))
