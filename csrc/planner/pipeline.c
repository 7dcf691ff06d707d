#include "planner/pipeline.h"

#include "planner/bits.h"
#include "planner/synchronous.h"

#include <math.h>
#include <string.h>

/* States that take a second or two: one level looks at few of them for each,
 * several levels and schedules at all pairs; levels keep a number for each.
 * Finding them takes rows of bits, of which most are often not wanted. */
enum {
    MOST_STATES = 1 << 19,
    MOST_STATES_LEVELS = 1 << 12,
    FEW_STATES = 1 << 16
};
#define MOST_BYTES (UINT64_C(1) << 26)

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

static fd_optimum_request
ask(const fd_states *states, const fd_costs *costs, double cap)
{
    return (fd_optimum_request){.states = states,
                                .costs = *costs,
                                .forbidden = FD_NO_STATE,
                                .cap = cap};
}

/* A bound on the answer that no rounding gets below. */
static double
loosened(double time)
{
    return time * (1 + 1e-9);
}

/* An optimum, looked for not far above the floor first: the less room a plan
 * has, the fewer places a cut can have. */
static fd_status
find_above(fd_optimum *optimum, const fd_optimum_request *request,
           fd_error *error)
{
    const fd_states *states = request->states;
    fd_optimum_request close = *request;
    double high = fmin(request->cap, states->times[states->count - 1]);
    double room = high - request->floor;
    for (double share = 1.0 / 256; room > 0 && share < 1; share *= 4) {
        close.cap = loosened(request->floor + share * room);
        fd_status status = fd_optimum_find(optimum, &close, error);
        if (status != FD_EINVAL) {
            return status;
        }
        fd_optimum_clear(optimum);
    }
    return fd_optimum_find(optimum, request, error);
}

/* The time of an optimum that is not kept; INFINITY: there is none. */
static fd_status
time_of(const fd_pipeline *pipeline, const fd_costs *costs, double cap,
        double *time)
{
    fd_optimum found;
    fd_optimum_request request = ask(&pipeline->states, costs, cap);
    request.floor = fd_least_time(costs, &pipeline->states,
                                  pipeline->layers.count);
    fd_status status = find_above(&found, &request, NULL);
    *time = status == FD_OK ? found.time : INFINITY;
    fd_optimum_clear(&found);
    return status == FD_EINVAL ? FD_OK : status;
}

/* The stage that lacks most when memory is no matter, and what it lacks. */
static fd_status
tell_memory(fd_pipeline *pipeline, const fd_model *model,
            const fd_costs *costs, fd_error *error)
{
    fd_costs free = *costs;
    free.memory = FD_MEMORY_FREE;
    fd_optimum found;
    fd_optimum_request request = ask(&pipeline->states, &free, INFINITY);
    fd_status status = fd_optimum_find(&found, &request, error);
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
        status = fd_fail(error, FD_EINVAL,
                         "no plan has room in %.4g bytes a machine: without "
                         "the bound stage %u (%u layers, %.60s to %.60s) "
                         "lacks %.4g bytes",
                         costs->room, (unsigned)worst, (unsigned)ends.layers,
                         ends.first, ends.last, most - costs->room);
    }
    fd_optimum_clear(&found);
    return status;
}

static fd_status
tell_none(fd_pipeline *pipeline, const fd_model *model, const fd_costs *costs,
          fd_error *error)
{
    if (costs->straight && !costs->fewer) {
        double all = 1;
        for (uint32_t i = 0; i < costs->levels; i++) {
            all *= costs->machines[i];
        }
        if (all > pipeline->layers.count) {
            return fd_fail(error, FD_EINVAL,
                           "%g stages of at least one layer: the graph has "
                           "%u layers",
                           all, (unsigned)pipeline->layers.count);
        }
    }
    return costs->memory != FD_MEMORY_FREE
               ? tell_memory(pipeline, model, costs, error)
               : fd_fail(error, FD_EINVAL,
                         "no plan: the graph has %u places to cut",
                         (unsigned)pipeline->states.count - 1);
}

/* `cap`: a time that a plan was found for. What else is asked for needs the
 * states that only slower plans are cut at. */
static fd_states_window
window_of(const fd_pipeline *pipeline, const fd_pipeline_request *request,
          double cap)
{
    bool alone = !request->second && !request->gains
                 && request->micro_batches == 0;
    uint64_t row = pipeline->layers.words * sizeof(uint64_t) + 16;
    fd_states_window window = {.found = (uint32_t)(MOST_BYTES / row),
                               .kept = request->costs.levels > 1
                                               || request->micro_batches > 0
                                           ? MOST_STATES_LEVELS
                                           : MOST_STATES,
                               .cap = alone ? cap : INFINITY,
                               .machines = 1};
    if (!alone) {
        window.found = window.kept;
    }
    if (request->most_states > 0) {
        window.found = request->most_states;
        window.kept = request->most_states;
    }
    window.few = window.kept < FEW_STATES ? window.kept : FEW_STATES;
    for (uint32_t i = 0; i < request->costs.levels; i++) {
        window.machines *= request->costs.machines[i];
    }
    return window;
}

/* All states within a window, and the best plan with them. */
static fd_status
find_within(fd_pipeline *pipeline, const fd_model *model,
            const fd_costs *costs, const fd_states_window *window, double cap)
{
    fd_states_clear(&pipeline->states);
    fd_optimum_clear(&pipeline->best);
    fd_status status =
        fd_states_make(&pipeline->states, model, &pipeline->layers, window);
    if (status == FD_OK) {
        fd_optimum_request best = ask(&pipeline->states, costs, cap);
        best.floor = fd_least_time(costs, &pipeline->states,
                                   pipeline->layers.count);
        status = find_above(&pipeline->best, &best, NULL);
    }
    return status;
}

static fd_status
find_best(fd_pipeline *pipeline, const fd_model *model,
          const fd_pipeline_request *request, fd_error *error)
{
    const fd_costs *costs = &request->costs;
    fd_states_window chains = {.found = 0};
    double cap = INFINITY;
    fd_status status = fd_costs_check(costs, error);
    if (status == FD_OK) {
        status = fd_layers_make(&pipeline->layers, model, error);
    }
    if (status == FD_OK) {
        status = fd_states_make(&pipeline->states, model, &pipeline->layers,
                                &chains);
    }
    if (status == FD_OK) {
        status = time_of(pipeline, costs, INFINITY, &cap);
    }
    if (status != FD_OK) {
        return status;
    }
    fd_states_window window = window_of(pipeline, request, loosened(cap));
    status = find_within(pipeline, model, costs, &window, loosened(cap));
    if (status == FD_EINVAL && request->micro_batches > 0) {
        pipeline->best.time = INFINITY;
        status = FD_OK;
    }
    return status == FD_EINVAL ? tell_none(pipeline, model, costs, error)
                               : status;
}

/* The best of the plans that lack one of the cuts of the best: each in turn. */
static fd_status
find_second(fd_pipeline *pipeline, const fd_costs *costs)
{
    uint32_t top = costs->levels - 1;
    fd_optimum_request request = ask(&pipeline->states, costs, INFINITY);
    request.floor = pipeline->best.time;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < pipeline->best.stages.count; i++) {
        const fd_stage *stage = &pipeline->best.stages.list[i];
        bool whole = stage->block.first == FD_NO_STATE
                     && stage->block.last == pipeline->states.count - 1;
        if (stage->level != top
            || (stage->block.first == FD_NO_STATE && !whole)) {
            continue;
        }
        request.forbidden = stage->block.first;
        request.cut_once = whole;
        fd_optimum found;
        status = find_above(&found, &request, NULL);
        if (status == FD_OK && found.time < pipeline->second.time) {
            fd_optimum_clear(&pipeline->second);
            pipeline->second = found;
            request.cap = loosened(found.time);
        }
        else {
            fd_optimum_clear(&found);
        }
        if (status == FD_ENOMEM) {
            return status;
        }
    }
    return FD_OK;
}

static fd_status
find_gains(fd_pipeline *pipeline, const fd_costs *costs)
{
    fd_costs changed = *costs;
    changed.machines[costs->levels - 1]++;
    double cap = INFINITY;
    fd_status status =
        time_of(pipeline, &changed, cap, &pipeline->one_more);
    if (status == FD_OK) {
        changed = *costs;
        for (uint32_t i = 0; i < costs->levels; i++) {
            changed.bandwidths[i] *= 2;
        }
        cap = loosened(pipeline->best.time);
        status =
            time_of(pipeline, &changed, cap, &pipeline->twice);
    }
    return status;
}

fd_status
fd_pipeline_find(fd_pipeline *pipeline, const fd_model *model,
                 const fd_pipeline_request *request, fd_error *error)
{
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->second.time = INFINITY;
    pipeline->one_more = INFINITY;
    pipeline->twice = INFINITY;
    bool synchronous = request->micro_batches > 0;
    fd_status status =
        synchronous ? fd_synchronous_check(request, error) : FD_OK;
    if (status == FD_OK) {
        status = find_best(pipeline, model, request, error);
    }
    if (synchronous) {
        return status == FD_OK
                   ? fd_synchronous_find(pipeline, request, error)
                   : status;
    }
    if (status == FD_OK && request->second) {
        status = find_second(pipeline, &request->costs);
    }
    if (status == FD_OK && request->gains) {
        status = find_gains(pipeline, &request->costs);
    }
    return status;
}
