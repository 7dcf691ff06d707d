#include "chains.h"

#include "models.h"

#include <math.h>

#define LAYER(half) FIGURES(half, half, 1000, 1000)
#define CHAIN \
    NODE("a", LAYER(2)) \
    NODE("b", LAYER(0.5)) \
    NODE("c", LAYER(0.5)) \
    NODE("d", LAYER(1)) "\ta -- b\n\tb -- c\n\tc -- d\n"

fd_status
states_of(fd_states *states, const char *text)
{
    fd_model model = {.about = 0};
    fd_layers layers = {.count = 0};
    fd_states_limits all = {.found = 100, .kept = 100, .cap = INFINITY};
    fd_status status = model_of(&model, text, NULL);
    if (status == FD_OK) {
        status = fd_layers_make(&layers, &model, NULL);
    }
    if (status == FD_OK) {
        status = fd_states_make(states, &model, &layers, &all);
    }
    fd_layers_clear(&layers);
    fd_model_clear(&model);
    return status;
}

void
chained_clear(chained *c)
{
    fd_states_clear(&c->states);
    fd_layers_clear(&c->layers);
    fd_model_clear(&c->model);
}

fd_status
chained_make(chained *c, uint32_t machines)
{
    *c = (chained){
        .costs = {.levels = 1, .machines = {machines}, .bandwidths = {1e9}}};
    fd_status status = model_of(&c->model, CHAIN, NULL);
    if (status == FD_OK) {
        status = fd_layers_make(&c->layers, &c->model, NULL);
    }
    fd_states_limits all = {.found = 100, .kept = 100, .cap = INFINITY};
    return status == FD_OK
             ? fd_states_make(&c->states, &c->model, &c->layers, &all)
             : status;
}

fd_status
chained_evaluator(fd_evaluator *evaluator, const chained *c)
{
    *evaluator = (fd_evaluator){.states = &c->states,
                                .costs = &c->costs,
                                .schedule = FD_SCHEDULE_1F1B,
                                .micro_batches = 4,
                                .forbidden = FD_NO_STATE,
                                .most_ranks = c->costs.machines[0]};
    return fd_evaluator_make(evaluator, NULL);
}

bool
near(double seconds, double ms)
{
    return fabs(seconds - ms / 1000) < 1e-12;
}
