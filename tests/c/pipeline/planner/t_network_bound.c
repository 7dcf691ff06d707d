#include "random_models.h"

#include "pipeline/planner/fastest_split.h"
#include "pipeline/planner/network_bound.h"

#include <math.h>

typedef struct both {
    double optimum;
    double bound;
} both;

/* The optimum over all states, and the bound, raised as far as possible. */
static fd_status
find_both(both *found, uint32_t seed, const fd_costs *costs)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_states_clear) fd_states states = {.count = 0};
    CLEAN(fd_optimum_clear) fd_optimum best = {.time = 0};
    CLEAN(fd_network_bound_clear) fd_network_bound bound = {.time = 0};
    fd_states_limits limits = {.found = 999, .kept = 999, .cap = INFINITY};
    fd_status status = random_model(&model, seed, 9);
    if (status == FD_OK) {
        status = fd_layers_make(&layers, &model, NULL);
    }
    if (status == FD_OK) {
        status = fd_states_make(&states, &model, &layers, &limits);
    }
    fd_optimum_request request = {.states = &states,
                                  .costs = *costs,
                                  .forbidden = FD_NO_STATE,
                                  .cap = INFINITY,
                                  .floor = 1e-6};
    if (status == FD_OK) {
        status = fd_optimum_search(&best, &request, NULL);
    }
    if (status == FD_OK) {
        status =
            fd_network_bound_make(&bound, &model, &layers, costs,
                                  fd_least_time(costs, &states, layers.count));
    }
    if (status == FD_OK) {
        status = fd_network_bound_raise(&bound, 2 * best.time, 5000,
                                        UINT64_C(1) << 26);
    }
    *found = (both){best.time, bound.time};
    return status;
}

/* On one level regions of one state each leave no gap. */
static void
one_level(void)
{
    for (uint32_t seed = 0; seed < 24; seed++) {
        fd_costs costs = {.levels = 1,
                          .machines = {2 + seed % 5},
                          .bandwidths = {seed % 3 == 0 ? 1e8 : 1e9},
                          .ratio = seed % 4 == 0 ? 0 : 1,
                          .straight = seed % 7 == 0,
                          .fewer = seed % 2 == 0,
                          .true_cut = true};
        both found;
        OK(find_both(&found, seed, &costs));
        CHECK(found.bound <= found.optimum * (1 + 1e-8));
        CHECK(found.bound >= found.optimum * 0.98);
        costs.true_cut = false;
        OK(find_both(&found, seed, &costs));
        CHECK(found.bound <= found.optimum * (1 + 1e-8));
    }
}

static void
two_levels(void)
{
    for (uint32_t seed = 0; seed < 24; seed++) {
        fd_costs costs = {.levels = 2,
                          .machines = {2 + seed % 2, 2 + seed % 3},
                          .bandwidths = {1e9, seed % 2 == 0 ? 1e8 : 1e10},
                          .ratio = 1,
                          .fewer = seed % 4 == 0,
                          .true_cut = seed % 3 != 0};
        both found;
        OK(find_both(&found, seed, &costs));
        CHECK(found.bound <= found.optimum * (1 + 1e-8));
        CHECK(found.bound > 0);
    }
}

RUN(TEST(one_level), TEST(two_levels))
