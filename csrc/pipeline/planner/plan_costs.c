#include "pipeline/planner/plan_costs.h"

#include <math.h>

fd_stage_cost
fd_stage_costs(const fd_costs *costs, const fd_states *states, uint32_t level,
               double compute, fd_block block, uint32_t machines, bool single)
{
    double bandwidth = costs->bandwidths[level];
    double width = level > 0 && (single || costs->true_cut)
                     ? costs->machines[level - 1]
                     : 1;
    const double *cuts = fd_cuts_of(costs, states);
    double parameters = fd_state_sum(states->parameters, block);
    double count = machines;
    fd_stage_cost cost = {
        .compute = compute / count,
        .reduce =
            4 * (count - 1) * parameters / (bandwidth * count * width) / count,
    };
    if (costs->ratio > 0 && !single) {
        double speed = bandwidth * count;
        cost.in = 2 * cuts[block.first] / speed / costs->ratio;
        if (block.last != states->count - 1) {
            cost.out = 2 * cuts[block.last] / speed / costs->ratio;
        }
    }
    return cost;
}

double
fd_stage_memory(const fd_costs *costs, const fd_states *states, fd_block block,
                uint32_t machines, uint32_t after)
{
    double parameters = fd_state_sum(states->parameters, block);
    double rounds = ceil((double)after / machines);
    if (costs->memory == FD_MEMORY_PUBLISHED) {
        return rounds
             * (parameters + fd_state_sum(states->activations, block));
    }
    double flying = rounds + 1;
    double versions = costs->memory == FD_MEMORY_STASHED ? flying : 1;
    return parameters * (versions + 1 + costs->optimizer)
         + flying * fd_state_sum(states->saved, block);
}

/* The sum is rounded up, so that the same sums in another order do not exceed
 * it. */
double
fd_least_time(const fd_costs *costs, const fd_states *states, uint32_t layers)
{
    double all = 1;
    double fastest = 0;
    double least = 0;
    for (uint32_t i = 0; i < costs->levels; i++) {
        all *= costs->machines[i];
        fastest = fmax(fastest, costs->bandwidths[i]);
    }
    least = states->times[states->count - 1] / all;
    for (uint32_t i = 0; i < layers; i++) {
        double time = states->least_times[i];
        double best = time;
        for (double count = 2; count <= all && !costs->straight; count++) {
            double reduce = costs->levels > 1
                              ? 0
                              : 4 * (count - 1) * states->least_parameters[i]
                                    / (fastest * count);
            best = fmin(best, (time + reduce) / count);
        }
        least = fmax(least, best);
    }
    return least * (1 + 1e-12);
}

static bool
is_positive(double value)
{
    return value > 0 && isfinite(value);
}

static bool
is_share(double value)
{
    return value >= 0 && isfinite(value);
}

fd_status
fd_costs_check(const fd_costs *costs, fd_error *error)
{
    double all = 1;
    if (costs->levels < 1 || costs->levels > FD_PLAN_LEVELS) {
        return fd_fail(error, FD_EINVAL, "%u levels of machines: 1 to %d",
                       (unsigned)costs->levels, FD_PLAN_LEVELS);
    }
    for (uint32_t i = 0; i < costs->levels; i++) {
        all *= costs->machines[i];
        if (costs->machines[i] < 1 || all > FD_PLAN_MACHINES) {
            return fd_fail(error, FD_EINVAL,
                           "%u machines at level %u: from 1 on, and at most "
                           "%d over all levels",
                           (unsigned)costs->machines[i], (unsigned)i + 1,
                           FD_PLAN_MACHINES);
        }
        if (!is_positive(costs->bandwidths[i])) {
            return fd_fail(
                error, FD_EINVAL,
                "bandwidth %g at level %u: bytes per second, above 0",
                costs->bandwidths[i], (unsigned)i + 1);
        }
    }
    if (!is_share(costs->ratio)) {
        return fd_fail(error, FD_EINVAL, "ratio %g: above 0", costs->ratio);
    }
    if (costs->memory != FD_MEMORY_FREE
        && !(is_positive(costs->capacity) && is_share(costs->optimizer))) {
        return fd_fail(error, FD_EINVAL,
                       "memory of %g bytes, %g of optimizer state a byte: "
                       "finite non-negative numbers",
                       costs->capacity, costs->optimizer);
    }
    return FD_OK;
}
