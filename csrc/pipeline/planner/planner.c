#include "pipeline/planner/planner.h"

#include "pipeline/planner/fastest_split.h"

#include <float.h>
#include <math.h>

/* Numbers of states that take one or two seconds: one level compares each
 * state with few others, several levels compare all pairs. */
enum {
    MOST_STATES = 1 << 19,
    MOST_STATES_LEVELS = 1 << 12,
    FEW_STATES = 1 << 16,
    CHAIN_STATES = 1 << 16,
    CHAIN_STATES_LEVELS = 1 << 8,
    SHORT_CHAIN = 1 << 3 /* shorter ones are compared whatever the effort */
};
#define MOST_BYTES (UINT64_C(1) << 26)

static bool
is_in(const fd_states *states, fd_block block, uint32_t layer)
{
    return fd_bits_has(fd_state_set(states, block.last), layer)
        && (block.first == FD_NO_STATE
            || !fd_bits_has(fd_state_set(states, block.first), layer));
}

fd_block_ends
fd_pipeline_ends(const fd_pipeline *pipeline, const fd_model *model,
                 fd_block block)
{
    fd_block_ends ends = {"", "", 0};
    for (uint32_t i = 0; i < pipeline->layers.count; i++) {
        if (is_in(&pipeline->states, block, i)) {
            ends.first = ends.layers == 0 ? model->ids[i] : ends.first;
            ends.last = model->ids[i];
            ends.layers++;
        }
    }
    return ends;
}

int32_t
fd_pipeline_stage(const fd_pipeline *pipeline, uint32_t layer)
{
    int32_t stage = 0;
    for (uint32_t i = 0; i < pipeline->best.stages.count; i++) {
        const fd_stage *at = &pipeline->best.stages.list[i];
        if (at->level > 0) {
            continue;
        }
        if (is_in(&pipeline->states, at->block, layer)) {
            return stage;
        }
        stage++;
    }
    return -1;
}

static fd_optimum_request
request_for(const fd_pipeline *pipeline, const fd_pipeline_request *request,
            const fd_costs *costs, double cap)
{
    return (fd_optimum_request){
        .states = &pipeline->states,
        .costs = *costs,
        .cap = cap,
        .floor =
            fd_least_time(costs, &pipeline->states, pipeline->layers.count),
        .effort = request->effort,
        .watch = request->watch};
}

/* Return the index of the stage that needs the most memory, and its number
 * among those of level 0. */
static uint32_t
largest_stage(const fd_optimum *found, uint32_t *number)
{
    uint32_t worst = 0;
    uint32_t count = 0;
    double most = -1;
    for (uint32_t i = 0; i < found->stages.count; i++) {
        const fd_stage *stage = &found->stages.list[i];
        if (stage->level == 0 && stage->memory > most) {
            most = stage->memory;
            worst = i;
            *number = count;
        }
        count += stage->level == 0;
    }
    return worst;
}

/* Report the stage with the largest deficit of memory in the best plan without
 * a limit. */
static fd_status
report_memory(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
              const fd_pipeline_request *request)
{
    double capacity = request->costs.capacity;
    fd_costs unlimited = request->costs;
    unlimited.capacity = DBL_MAX;
    fd_optimum found;
    fd_optimum_request without =
        request_for(pipeline, request, &unlimited, INFINITY);
    fd_status status = fd_optimum_search(&found, arena, &without);
    if (status != FD_OK) {
        return status;
    }
    uint32_t number = 0;
    const fd_stage *worst = &found.stages.list[largest_stage(&found, &number)];
    fd_block_ends ends = fd_pipeline_ends(pipeline, model, worst->block);
    return fd_fail(arena->error, FD_EINVAL,
                   "no plan fits into %.4g bytes per machine: without the "
                   "bound stage %u (%u layers, %.60s to %.60s) lacks %.4g "
                   "bytes",
                   capacity, (unsigned)number, (unsigned)ends.layers,
                   ends.first, ends.last, worst->memory - capacity);
}

static double
all_machines(const fd_costs *costs)
{
    double all = 1;
    for (uint32_t i = 0; i < costs->levels; i++) {
        all *= costs->machines[i];
    }
    return all;
}

static fd_status
report_none(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
            const fd_pipeline_request *request)
{
    const fd_costs *costs = &request->costs;
    if (costs->straight && !costs->fewer) {
        double all = all_machines(costs);
        if (all > pipeline->layers.count) {
            return fd_fail(arena->error, FD_EINVAL,
                           "%g stages of at least one layer: the graph has "
                           "%u layers",
                           all, (unsigned)pipeline->layers.count);
        }
    }
    return costs->memory != FD_MEMORY_FREE
             ? report_memory(pipeline, arena, model, request)
             : fd_fail(arena->error, FD_EINVAL,
                       "no plan: the graph has %u places to cut",
                       (unsigned)pipeline->states.count - 1);
}

static fd_status
check_sums(const fd_layers *layers, const fd_model *model, fd_error *error)
{
    double all = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        const fd_layer *node = &model->layers[i];
        all += node->forward + node->backward + node->activation
             + node->parameters + fmax(node->saved, 0);
    }
    return isfinite(all)
             ? FD_OK
             : fd_fail(error, FD_EINVAL,
                       "times or bytes of all layers add up to more than a "
                       "number holds");
}

/* Find the best plan on two chains of states, shorter ones if the effort was
 * reached. */
static fd_status
find_on_chains(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
               const fd_pipeline_request *request)
{
    fd_states_limits limits = {.chain = request->costs.levels > 1
                                          ? CHAIN_STATES_LEVELS
                                          : CHAIN_STATES};
    fd_status status = FD_EFULL;
    for (; status == FD_EFULL && limits.chain > 0; limits.chain /= 8) {
        fd_arena *attempt = fd_arena_part(arena);
        fd_states_make(&pipeline->states, attempt, model, &pipeline->layers,
                       &limits);
        fd_optimum_request best =
            request_for(pipeline, request, &request->costs, INFINITY);
        best.effort = limits.chain < SHORT_CHAIN ? 0 : request->effort;
        status = fd_optimum_search(&pipeline->best, attempt, &best);
        if (status == FD_EFULL) {
            fd_arena_drop(attempt);
        }
    }
    return status;
}

/* Return limits of all states. */
static fd_states_limits
limits_of(const fd_pipeline *pipeline, const fd_pipeline_request *request,
          double cap)
{
    uint64_t row = pipeline->layers.words * sizeof(uint64_t) + 16;
    uint32_t kept =
        request->costs.levels > 1 ? MOST_STATES_LEVELS : MOST_STATES;
    fd_states_limits limits = {.found = (uint32_t)(MOST_BYTES / row),
                               .kept = kept,
                               .few = kept < FEW_STATES ? kept : FEW_STATES,
                               .cap = cap,
                               .machines = all_machines(&request->costs)};
    if (request->most_states > 0) {
        limits.found = limits.kept = limits.few = request->most_states;
    }
    return limits;
}

/* Find the best plan of all states, which is not above the cap. FD_EFULL: too
 * many states, or the effort was reached. Otherwise the pipeline gets the
 * states. */
static fd_status
find_among_all(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
               const fd_pipeline_request *request, double cap)
{
    fd_arena *attempt = fd_arena_part(arena);
    fd_pipeline all = {.layers = pipeline->layers};
    fd_states_limits limits = limits_of(pipeline, request, cap);
    fd_status status =
        fd_states_make(&all.states, attempt, model, &all.layers, &limits);
    if (status == FD_OK) {
        fd_optimum_request best =
            request_for(&all, request, &request->costs, cap);
        status = fd_optimum_search(&all.best, attempt, &best);
    }
    if (status == FD_EFULL) {
        fd_arena_drop(attempt);
    }
    else {
        *pipeline = all;
    }
    return status;
}

static fd_status
find_pipeline(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
              const fd_pipeline_request *request)
{
    fd_layers_make(&pipeline->layers, arena, model);
    fd_arena_check(arena, check_sums(&pipeline->layers, model, arena->error));
    fd_status status = find_on_chains(pipeline, arena, model, request);
    double cap = status == FD_OK ? fd_loosened(pipeline->best.time) : INFINITY;
    fd_status all = find_among_all(pipeline, arena, model, request, cap);
    status = all == FD_EFULL ? status : all;
    if (status == FD_EFULL) {
        return fd_fail(arena->error, FD_EINVAL, "no plan was found in time");
    }
    return status == FD_EINVAL ? report_none(pipeline, arena, model, request)
                               : status;
}

fd_status
fd_pipeline_find(fd_pipeline *pipeline, fd_arena *arena, const fd_model *model,
                 const fd_pipeline_request *request, fd_error *error)
{
    *pipeline = (fd_pipeline){.layers = {.count = 0}};
    if (fd_arena_caught(arena, error)) {
        return arena->status;
    }
    fd_arena_check(arena, fd_costs_check(&request->costs, error));
    fd_arena_check(arena, find_pipeline(pipeline, arena, model, request));
    return fd_arena_left(arena);
}
