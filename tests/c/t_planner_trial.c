#include "models.h"

#include "planner/trial.h"

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
climbing(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_trial_clear) fd_trial trial = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain chain = {.count = 0};
    OK(make(&c, 3));
    OK(make_trial(&trial, &c));
    OK(fd_chain_make(&chain, trial.most_parts));
    chain.ranks = chain.count = 2;
    chain.ends[0] = 2;
    chain.ends[1] = 3;
    chain.machines[0] = 1;
    chain.machines[1] = 2;
    OK(fd_trial_climb(&trial, &chain, 1000));
    /* 4 ms on two machines and 4 on one: 4 times 4 on the way of 2. */
    CHECK(chain.time < 0.0181);
    EQUAL(chain.ends[0], 0);
    EQUAL(chain.machines[0] + chain.machines[1], 3);
    CHECK(trial.played > 0);
}

static void
what_may_not_be(void)
{
    CLEAN(clear_chained) chained c = {.model = {.about = 0}};
    CLEAN(fd_trial_clear) fd_trial trial = {.ready = NULL};
    CLEAN(fd_chain_clear) fd_chain chain = {.count = 0};
    const fd_rehearsal *rehearsal = NULL;
    OK(make(&c, 2));
    OK(make_trial(&trial, &c));
    OK(fd_chain_make(&chain, trial.most_parts));
    OK(fd_trial_on(&trial, 2, &rehearsal));
    chain.ranks = chain.count = 2;
    chain.ends[0] = 1;
    chain.ends[1] = 3;
    chain.machines[0] = chain.machines[1] = 1;
    CHECK(isfinite(fd_trial_time(&trial, rehearsal, &chain)));
    trial.forbidden = 1;
    CHECK(isinf(fd_trial_time(&trial, rehearsal, &chain)));
    trial.forbidden = FD_NO_STATE;
    c.costs.memory = FD_MEMORY_FLUSHED;
    c.costs.room = 7999;
    /* Two layers of 1000 bytes: weights and gradients, and twice in flight. */
    CHECK(isinf(fd_trial_time(&trial, rehearsal, &chain)));
    c.costs.room = 8000;
    CHECK(isfinite(fd_trial_time(&trial, rehearsal, &chain)));
    fd_trial other = {.schedule = FD_SCHEDULE_DEEPSPEED_TRAIN};
    STATUS(fd_trial_make(&other, NULL), FD_EINVAL);
}

RUN(TEST(climbing), TEST(what_may_not_be))
