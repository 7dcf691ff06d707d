#include "pipeline/planner/planner.h"

#include "pipeline/cuts/bit_sets.h"
#include "pipeline/planner/fastest_split.h"
#include "pipeline/planner/network_bound.h"
#include "pipeline/planner/synchronous_plan.h"

#include <math.h>
#include <string.h>

/* Numbers of states that take one or two seconds: one level compares each
 * state with few others; several levels and schedules compare all pairs. */
enum {
    MOST_STATES = 1 << 19,
    MOST_STATES_LEVELS = 1 << 12,
    FEW_STATES = 1 << 16,
    CAP_STATES_LEVELS = 128,   /* of a chain, for an upper bound */
    CHAIN_STATES_LEVELS = 512, /* of a chain, for a plan */
    CHAIN_STATES_SCHEDULE = 2048
};
#define MOST_BYTES (UINT64_C(1) << 26)

/* Maximum number of regions, and of pairs of them: some seconds. */
#define MOST_REGIONS (UINT64_C(1) << 14)
#define MOST_LOOKED (UINT64_C(1) << 28)

/* The ratio of the bounds at which a search of regions ends. */
#define CLOSE 0.95

void
fd_pipeline_clear(fd_pipeline *pipeline)
{
    fd_layers_clear(&pipeline->layers);
    fd_states_clear(&pipeline->states);
    fd_optimum_clear(&pipeline->best);
    fd_optimum_clear(&pipeline->second);
    fd_scheduled_clear(&pipeline->scheduled);
}

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
            const char *id = fd_model_text(
                model, model->nodes.list[pipeline->layers.nodes[i]].id);
            ends.first = ends.layers == 0 ? id : ends.first;
            ends.last = id;
            ends.layers++;
        }
    }
    return ends;
}

static int32_t
stage_of_layer(const fd_pipeline *pipeline, uint32_t layer)
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
    return FD_NO_STAGE;
}

fd_status
fd_pipeline_stages(const fd_pipeline *pipeline, const fd_model *model,
                   int32_t *stages)
{
    const fd_layers *layers = &pipeline->layers;
    for (uint32_t i = 0; i < layers->count; i++) {
        stages[layers->nodes[i]] = stage_of_layer(pipeline, i);
    }
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        uint32_t node = model->order[i];
        if (layers->layer_of[node] < layers->count) {
            continue;
        }
        bool source = model->in_first[node] == model->in_first[node + 1];
        stages[node] =
            source ? 0 : stages[model->in_list[model->in_first[node]]];
    }
    return FD_OK;
}

/* Return the request of a search. The effort applies to all states; with a
 * schedule, to the search under it. */
static fd_optimum_request
request_for(const fd_pipeline *pipeline, const fd_pipeline_request *request,
            const fd_costs *costs, double cap)
{
    bool own = pipeline->states.complete && request->micro_batches == 0;
    return (fd_optimum_request){
        .states = &pipeline->states,
        .costs = *costs,
        .forbidden = FD_NO_STATE,
        .cap = cap,
        .floor =
            fd_least_time(costs, &pipeline->states, pipeline->layers.count),
        .effort = own ? request->effort : 0,
        .watch = request->watch};
}

/* Find the time of an optimum, without its plan. */
static fd_status
time_of(const fd_pipeline *pipeline, const fd_pipeline_request *request,
        const fd_costs *costs, double cap, fd_bounded_time *to)
{
    fd_optimum found;
    fd_optimum_request problem = request_for(pipeline, request, costs, cap);
    fd_status status = fd_optimum_search(&found, &problem, NULL);
    *to = (fd_bounded_time){status == FD_OK ? found.time : INFINITY,
                            found.bound};
    fd_optimum_clear(&found);
    return status == FD_ENOMEM ? status : FD_OK;
}

/* Report the stage with the largest deficit of memory in the best plan without
 * a limit. */
static fd_status
report_memory(fd_pipeline *pipeline, const fd_model *model,
              const fd_pipeline_request *request, fd_error *error)
{
    const fd_costs *costs = &request->costs;
    fd_costs free = *costs;
    free.memory = FD_MEMORY_FREE;
    fd_optimum found;
    fd_optimum_request without =
        request_for(pipeline, request, &free, INFINITY);
    fd_status status = fd_optimum_search(&found, &without, error);
    if (status == FD_OK) {
        double most = 0;
        uint32_t number = 0;
        uint32_t worst = 0;
        fd_block_ends ends = {"", "", 0};
        for (uint32_t i = 0; i < found.stages.count; i++) {
            const fd_stage *stage = &found.stages.list[i];
            if (stage->level > 0) {
                continue;
            }
            double memory =
                fd_stage_memory(costs, &pipeline->states, stage->block,
                                stage->machines, stage->after);
            if (memory > most) {
                most = memory;
                worst = number;
                ends = fd_pipeline_ends(pipeline, model, stage->block);
            }
            number++;
        }
        status =
            fd_fail(error, FD_EINVAL,
                    "no plan fits into %.4g bytes per machine: without "
                    "the bound stage %u (%u layers, %.60s to %.60s) "
                    "lacks %.4g bytes",
                    costs->capacity, (unsigned)worst, (unsigned)ends.layers,
                    ends.first, ends.last, most - costs->capacity);
    }
    fd_optimum_clear(&found);
    return status;
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
report_none(fd_pipeline *pipeline, const fd_model *model,
            const fd_pipeline_request *request, fd_error *error)
{
    const fd_costs *costs = &request->costs;
    if (costs->straight && !costs->fewer) {
        double all = all_machines(costs);
        if (all > pipeline->layers.count) {
            return fd_fail(error, FD_EINVAL,
                           "%g stages of at least one layer: the graph has "
                           "%u layers",
                           all, (unsigned)pipeline->layers.count);
        }
    }
    return costs->memory != FD_MEMORY_FREE
             ? report_memory(pipeline, model, request, error)
             : fd_fail(error, FD_EINVAL,
                       "no plan: the graph has %u places to cut",
                       (unsigned)pipeline->states.count - 1);
}

static fd_costs
with_one_more(const fd_costs *costs)
{
    fd_costs changed = *costs;
    changed.machines[costs->levels - 1]++;
    return changed;
}

/* Upper bounds of times. */
typedef struct caps {
    double now;
    double more; /* with one more machine */
} caps;

/* Return limits for chains only, with fewer states for several levels or a
 * schedule. */
static fd_states_limits
chains_of(const fd_pipeline_request *request)
{
    uint32_t most = request->micro_batches > 0 ? CHAIN_STATES_SCHEDULE
                  : request->costs.levels > 1  ? CHAIN_STATES_LEVELS
                                               : 0;
    return (fd_states_limits){.chain = most};
}

/* Return limits of all states; with a schedule, time is unlimited. */
static fd_states_limits
limits_of(const fd_pipeline *pipeline, const fd_pipeline_request *request,
          caps cap)
{
    bool schedule = request->micro_batches > 0;
    uint64_t row = pipeline->layers.words * sizeof(uint64_t) + 16;
    fd_costs changed = with_one_more(&request->costs);
    fd_states_limits limits = {
        .found = (uint32_t)(MOST_BYTES / row),
        .kept = request->costs.levels > 1 || schedule ? MOST_STATES_LEVELS
                                                      : MOST_STATES,
        .chain = chains_of(request).chain,
        .cap = schedule ? INFINITY : fd_loosened(cap.now),
        .machines = all_machines(&request->costs)};
    if (request->gains) {
        limits.more_cap = fd_loosened(cap.more);
        limits.more_machines = all_machines(&changed);
    }
    if (schedule) {
        limits.found = limits.kept;
    }
    if (request->most_states > 0) {
        limits.found = request->most_states;
        limits.kept = request->most_states;
    }
    limits.few = limits.kept < FEW_STATES ? limits.kept : FEW_STATES;
    return limits;
}

/* Find all states within the limits, and the best plan of them. */
static fd_status
find_within(fd_pipeline *pipeline, const fd_model *model,
            const fd_pipeline_request *request, const fd_states_limits *limits,
            double cap)
{
    fd_states_clear(&pipeline->states);
    fd_optimum_clear(&pipeline->best);
    fd_status status =
        fd_states_make(&pipeline->states, model, &pipeline->layers, limits);
    if (status == FD_OK) {
        fd_optimum_request best =
            request_for(pipeline, request, &request->costs, cap);
        status = fd_optimum_search(&pipeline->best, &best, NULL);
    }
    return status;
}

/* Search on chains; the bound of the search of all states remains valid. */
static fd_status
find_on_chains(fd_pipeline *pipeline, const fd_model *model,
               const fd_pipeline_request *request)
{
    const fd_states_limits chains = chains_of(request);
    double bound = pipeline->best.bound;
    fd_status status =
        find_within(pipeline, model, request, &chains, INFINITY);
    pipeline->best.bound =
        fmin(fmax(bound, pipeline->best.bound), pipeline->best.time);
    return status;
}

/* Search for a better plan on the chains and on states of the regions. */
static fd_status
find_in_regions(fd_pipeline *pipeline, const fd_model *model,
                const fd_pipeline_request *request,
                const fd_cut_regions *regions)
{
    fd_pipeline other = {.layers = pipeline->layers};
    fd_states_limits limits = chains_of(request);
    limits.regions = regions;
    fd_status status = find_within(&other, model, request, &limits,
                                   fd_loosened(pipeline->best.time));
    if (status == FD_OK && other.best.time <= pipeline->best.time) {
        fd_states states = pipeline->states;
        fd_optimum best = pipeline->best;
        pipeline->states = other.states;
        pipeline->best = other.best;
        other.states = states;
        other.best = best;
    }
    fd_states_clear(&other.states);
    fd_optimum_clear(&other.best);
    return status == FD_ENOMEM ? status : FD_OK;
}

/* Raise the bound with the network, and improve the plan, until they are
 * close. Used if not all states are known. */
static fd_status
close_bounds(fd_pipeline *pipeline, const fd_model *model,
             const fd_pipeline_request *request)
{
    enum { FIRST_REGIONS = 1 << 10 };
    uint64_t row = FD_CUT_REGION_SETS * pipeline->layers.words * sizeof row;
    uint64_t capacity = MOST_BYTES / row;
    capacity = capacity < MOST_REGIONS ? capacity : MOST_REGIONS;
    fd_network_bound bound;
    double low = pipeline->best.bound;
    fd_status status = fd_network_bound_make(&bound, model, &pipeline->layers,
                                             &request->costs, low);
    for (uint64_t most = FIRST_REGIONS; most <= capacity; most *= 4) {
        double time = pipeline->best.time;
        if (status != FD_OK || bound.time >= CLOSE * time || bound.exact) {
            break;
        }
        status = fd_network_bound_raise(&bound, CLOSE * time, (uint32_t)most,
                                        MOST_LOOKED);
        if (status == FD_OK) {
            status = find_in_regions(pipeline, model, request, &bound.regions);
        }
    }
    pipeline->best.bound = fmin(fmax(low, bound.time), pipeline->best.time);
    fd_network_bound_clear(&bound);
    return status;
}

static fd_status
check_sums(const fd_states *states, fd_error *error)
{
    uint32_t whole = states->count - 1;
    double all = states->times[whole] + states->activations[whole]
               + states->parameters[whole] + states->saved[whole];
    return isfinite(all)
             ? FD_OK
             : fd_fail(error, FD_EINVAL,
                       "times or bytes of all layers add up to more than a "
                       "number holds");
}

/* Find times of plans on chains: upper bounds for all states. */
static fd_status
find_caps(fd_pipeline *pipeline, const fd_model *model,
          const fd_pipeline_request *request, caps *cap, fd_error *error)
{
    fd_states_limits chains = chains_of(request);
    fd_bounded_time now = {INFINITY, INFINITY};
    fd_bounded_time more = now;
    if (request->costs.levels > 1) {
        chains.chain = CAP_STATES_LEVELS;
    }
    fd_status status = fd_costs_check(&request->costs, error);
    if (status == FD_OK) {
        status = fd_layers_make(&pipeline->layers, model, error);
    }
    if (status == FD_OK) {
        status = fd_states_make(&pipeline->states, model, &pipeline->layers,
                                &chains);
    }
    if (status == FD_OK) {
        status = check_sums(&pipeline->states, error);
    }
    if (status == FD_OK) {
        status = time_of(pipeline, request, &request->costs, INFINITY, &now);
    }
    if (status == FD_OK && request->gains && request->micro_batches == 0) {
        fd_costs changed = with_one_more(&request->costs);
        status = time_of(pipeline, request, &changed, INFINITY, &more);
    }
    *cap = (caps){now.time, more.time};
    return status;
}

static fd_status
find_best(fd_pipeline *pipeline, const fd_model *model,
          const fd_pipeline_request *request, caps cap, fd_error *error)
{
    fd_states_limits limits = limits_of(pipeline, request, cap);
    fd_status status =
        find_within(pipeline, model, request, &limits, fd_loosened(cap.now));
    bool early = status == FD_OK && pipeline->states.complete
              && pipeline->best.bound < pipeline->best.time * (1 - 1e-9)
              && request->costs.levels > 1;
    if (status == FD_EFULL || early) {
        status = find_on_chains(pipeline, model, request);
    }
    if (status == FD_EFULL) {
        return fd_fail(error, FD_EINVAL, "no plan was found in time");
    }
    if (status == FD_OK && !pipeline->states.complete
        && request->most_states == 0 && request->micro_batches == 0) {
        status = close_bounds(pipeline, model, request);
    }
    if (status == FD_EINVAL && request->micro_batches > 0) {
        pipeline->best.time = INFINITY;
        status = FD_OK;
    }
    return status == FD_EINVAL ? report_none(pipeline, model, request, error)
                               : status;
}

/* Find the best plan without one of the cuts of the best one: one search per
 * cut. */
static fd_status
find_second(fd_pipeline *pipeline, const fd_pipeline_request *request)
{
    uint32_t top = request->costs.levels - 1;
    fd_optimum *second = &pipeline->second;
    fd_optimum_request other =
        request_for(pipeline, request, &request->costs, INFINITY);
    other.floor = pipeline->best.bound;
    fd_optimum_clear(second);
    *second = (fd_optimum){.time = INFINITY, .bound = INFINITY};
    for (uint32_t i = 0; i < pipeline->best.stages.count; i++) {
        const fd_stage *stage = &pipeline->best.stages.list[i];
        bool whole = stage->block.first == FD_NO_STATE
                  && stage->block.last == pipeline->states.count - 1;
        if (stage->level != top
            || (stage->block.first == FD_NO_STATE && !whole)) {
            continue;
        }
        other.forbidden = stage->block.first;
        other.cut_once = whole;
        fd_optimum found;
        fd_status status = fd_optimum_search(&found, &other, NULL);
        double bound = fmin(second->bound, found.bound);
        if (status == FD_OK && found.time < second->time) {
            fd_optimum_clear(second);
            *second = found;
            other.cap = fd_loosened(found.time);
        }
        else {
            fd_optimum_clear(&found);
        }
        second->bound = fmin(bound, second->time);
        if (status == FD_ENOMEM) {
            return status;
        }
    }
    return FD_OK;
}

/* Find the best and the second best plan. The states are those of plans below
 * the cap; if the second best is above it, search again with its time as the
 * cap. */
static fd_status
find_both(fd_pipeline *pipeline, const fd_model *model,
          const fd_pipeline_request *request, caps cap, fd_error *error)
{
    fd_status status = find_best(pipeline, model, request, cap, error);
    if (status == FD_OK && request->second) {
        status = find_second(pipeline, request);
    }
    const fd_states *states = &pipeline->states;
    if (status == FD_OK && request->second && states->complete
        && states->count < states->found
        && pipeline->second.time > fd_loosened(cap.now)) {
        cap.now = pipeline->second.time;
        status = find_best(pipeline, model, request, cap, error);
        if (status == FD_OK) {
            status = find_second(pipeline, request);
        }
    }
    return status;
}

static fd_status
find_gains(fd_pipeline *pipeline, const fd_pipeline_request *request)
{
    fd_costs changed = with_one_more(&request->costs);
    fd_status status =
        time_of(pipeline, request, &changed, INFINITY, &pipeline->one_more);
    if (status == FD_OK) {
        changed = request->costs;
        for (uint32_t i = 0; i < changed.levels; i++) {
            changed.bandwidths[i] *= 2;
        }
        status = time_of(pipeline, request, &changed,
                         fd_loosened(pipeline->best.time), &pipeline->twice);
    }
    return status;
}

fd_status
fd_pipeline_find(fd_pipeline *pipeline, const fd_model *model,
                 const fd_pipeline_request *request, fd_error *error)
{
    const fd_bounded_time none = {INFINITY, INFINITY};
    bool synchronous = request->micro_batches > 0;
    caps cap;
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->second.time = INFINITY;
    pipeline->one_more = none;
    pipeline->twice = none;
    fd_status status =
        synchronous ? fd_synchronous_check(request, error) : FD_OK;
    if (status == FD_OK) {
        status = find_caps(pipeline, model, request, &cap, error);
    }
    if (status != FD_OK) {
        return status;
    }
    if (synchronous) {
        status = find_best(pipeline, model, request, cap, error);
        return status == FD_OK ? fd_synchronous_find(pipeline, request, error)
                               : status;
    }
    status = find_both(pipeline, model, request, cap, error);
    if (status == FD_OK && request->gains) {
        status = find_gains(pipeline, request);
    }
    return status;
}
