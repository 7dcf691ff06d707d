#include "pipeline/planner/initial_solutions.h"

#include <math.h>

/* Climb from the plan at hand, which may become the best. */
static fd_status
climb(fd_trial *trial, const fd_beginnings_request *request)
{
    fd_status status = fd_trial_climb(trial, request->now, request->effort);
    if (status == FD_OK
        && request->now->time < request->best->time * (1 - 1e-12)) {
        fd_chain_copy(request->best, request->now);
    }
    return status;
}

/* The stages of an optimum as parts; each rank has the machines of all its
 * stages. */
static bool
take_stages(const fd_trial *trial, fd_chain *to, const fd_optimum *from,
            uint32_t ranks)
{
    to->ranks = ranks;
    to->count = ranks * trial->chunks;
    if (from->stages.count != to->count) {
        return false;
    }
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t rank = fd_trial_rank(trial, ranks, i);
        to->ends[i] = from->stages.list[i].block.last;
        to->machines[i] = 0;
        for (uint32_t j = 0; j < to->count; j++) {
            if (fd_trial_rank(trial, ranks, j) == rank) {
                to->machines[i] += from->stages.list[j].machines;
            }
        }
    }
    return true;
}

static fd_status
try_asynchronous(fd_trial *trial, fd_beginnings_request *request)
{
    const fd_optimum *plan = request->asynchronous;
    uint32_t ranks = plan == NULL ? 0 : plan->stages.count / trial->chunks;
    fd_compiled *compiled = NULL;
    fd_status status = FD_OK;
    /* Several stages of a machine each would be a rank of several machines. */
    if (ranks == 0 || ranks > trial->most_ranks
        || (trial->chunks > 1 && trial->costs->straight)
        || !take_stages(trial, request->now, plan, ranks)) {
        return FD_OK;
    }
    status = fd_trial_on(trial, ranks, &compiled);
    if (status == FD_OK && compiled != NULL) {
        if (trial->chunks == 1) {
            request->played = fd_trial_time(trial, compiled, request->now);
        }
        status = climb(trial, request);
    }
    return status;
}

/* Parts of equal time, on machines as even as can be. */
static fd_status
try_even(fd_trial *trial, const fd_beginnings_request *request, uint32_t ranks)
{
    fd_optimum even;
    fd_optimum_request equal = {.states = trial->states,
                                .costs = *trial->costs,
                                .forbidden = FD_NO_STATE,
                                .cap = INFINITY};
    uint32_t machines =
        trial->costs->straight ? ranks : trial->costs->machines[0];
    equal.costs.machines[0] = ranks * trial->chunks;
    equal.costs.straight = true;
    equal.costs.fewer = false;
    equal.costs.memory = FD_MEMORY_FREE;
    fd_compiled *compiled = NULL;
    fd_status status = fd_trial_on(trial, ranks, &compiled);
    if (status != FD_OK || compiled == NULL) {
        return status;
    }
    status = fd_optimum_find(&even, &equal, NULL);
    if (status == FD_OK && take_stages(trial, request->now, &even, ranks)) {
        for (uint32_t i = 0; i < request->now->count; i++) {
            uint32_t rank = fd_trial_rank(trial, ranks, i);
            request->now->machines[i] =
                machines / ranks + (rank < machines % ranks ? 1 : 0);
        }
        status = climb(trial, request);
    }
    fd_optimum_clear(&even);
    return status == FD_EINVAL ? FD_OK : status;
}

fd_status
fd_beginnings_try(fd_trial *trial, fd_beginnings_request *request)
{
    enum { TRIES = 16 };
    const fd_costs *costs = trial->costs;
    uint32_t most = trial->most_ranks;
    bool all = costs->straight && !costs->fewer;
    uint32_t step = (most + TRIES - 1) / TRIES;
    request->played = INFINITY;
    fd_status status = try_asynchronous(trial, request);
    if (all && costs->machines[0] <= most && status == FD_OK) {
        return try_even(trial, request, costs->machines[0]);
    }
    for (uint32_t ranks = most; !all && ranks >= 1 && status == FD_OK;
         ranks = ranks <= step ? 0 : ranks - step) {
        status = try_even(trial, request, ranks);
    }
    return status;
}
