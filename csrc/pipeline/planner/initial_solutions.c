#include "pipeline/planner/initial_solutions.h"

#include <math.h>

/* Improve the current plan, which may become the best. */
static fd_status
climb(fd_evaluator *evaluator, const fd_initial_request *request)
{
    fd_status status =
        fd_local_search(evaluator, request->now, request->effort);
    if (status == FD_OK
        && request->now->time < request->best->time * (1 - 1e-12)) {
        fd_chain_copy(request->best, request->now);
    }
    return status;
}

/* Convert the stages of an optimum to parts; each rank has the machines of all
 * its stages. */
static bool
take_stages(const fd_evaluator *evaluator, fd_chain *to,
            const fd_optimum *from, uint32_t ranks)
{
    to->ranks = ranks;
    to->count = ranks * evaluator->chunks;
    if (from->stages.count != to->count) {
        return false;
    }
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t rank = fd_evaluator_rank(evaluator, ranks, i);
        to->ends[i] = from->stages.list[i].block.last;
        to->machines[i] = 0;
        for (uint32_t j = 0; j < to->count; j++) {
            if (fd_evaluator_rank(evaluator, ranks, j) == rank) {
                to->machines[i] += from->stages.list[j].machines;
            }
        }
    }
    return true;
}

static fd_status
add_asynchronous(fd_evaluator *evaluator, fd_initial_request *request)
{
    const fd_optimum *plan = request->asynchronous;
    uint32_t ranks = plan == NULL ? 0 : plan->stages.count / evaluator->chunks;
    fd_compiled *compiled = NULL;
    fd_status status = FD_OK;
    /* With one machine per stage, ranks of several machines are excluded. */
    if (ranks == 0 || ranks > evaluator->most_ranks
        || (evaluator->chunks > 1 && evaluator->costs->straight)
        || !take_stages(evaluator, request->now, plan, ranks)) {
        return FD_OK;
    }
    status = fd_evaluator_schedule(evaluator, ranks, &compiled);
    if (status == FD_OK && compiled != NULL) {
        if (evaluator->chunks == 1) {
            request->asynchronous_step =
                fd_evaluator_time(evaluator, compiled, request->now);
        }
        status = climb(evaluator, request);
    }
    return status;
}

/* Try parts of equal time on evenly distributed machines. */
static fd_status
add_even(fd_evaluator *evaluator, const fd_initial_request *request,
         uint32_t ranks)
{
    fd_optimum even;
    fd_optimum_request equal = {.states = evaluator->states,
                                .costs = *evaluator->costs,
                                .forbidden = FD_NO_STATE,
                                .cap = INFINITY};
    uint32_t machines =
        evaluator->costs->straight ? ranks : evaluator->costs->machines[0];
    equal.costs.machines[0] = ranks * evaluator->chunks;
    equal.costs.straight = true;
    equal.costs.fewer = false;
    equal.costs.memory = FD_MEMORY_FREE;
    fd_compiled *compiled = NULL;
    fd_status status = fd_evaluator_schedule(evaluator, ranks, &compiled);
    if (status != FD_OK || compiled == NULL) {
        return status;
    }
    status = fd_optimum_find(&even, &equal, NULL);
    if (status == FD_OK
        && take_stages(evaluator, request->now, &even, ranks)) {
        for (uint32_t i = 0; i < request->now->count; i++) {
            uint32_t rank = fd_evaluator_rank(evaluator, ranks, i);
            request->now->machines[i] =
                machines / ranks + (rank < machines % ranks ? 1 : 0);
        }
        status = climb(evaluator, request);
    }
    fd_optimum_clear(&even);
    return status == FD_EINVAL ? FD_OK : status;
}

fd_status
fd_initial_solutions(fd_evaluator *evaluator, fd_initial_request *request)
{
    enum { TRIES = 16 };
    const fd_costs *costs = evaluator->costs;
    uint32_t most = evaluator->most_ranks;
    bool all = costs->straight && !costs->fewer;
    uint32_t step = (most + TRIES - 1) / TRIES;
    request->asynchronous_step = INFINITY;
    fd_status status = add_asynchronous(evaluator, request);
    if (all && costs->machines[0] <= most && status == FD_OK) {
        return add_even(evaluator, request, costs->machines[0]);
    }
    /* The last candidate is data parallelism. */
    for (uint32_t ranks = most; !all && ranks >= 1 && status == FD_OK;
         ranks = ranks > step ? ranks - step : ranks > 1) {
        status = add_even(evaluator, request, ranks);
    }
    return status;
}
