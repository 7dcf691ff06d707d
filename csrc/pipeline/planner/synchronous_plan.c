#include "pipeline/planner/synchronous_plan.h"

#include <math.h>

fd_status
fd_synchronous_check(const fd_pipeline_request *request, fd_error *error)
{
    const fd_costs *costs = &request->costs;
    const char *name = fd_schedule_name(request->schedule);
    if (costs->levels != 1) {
        return fd_fail(error, FD_EINVAL,
                       "%s: planned for one level of machines, not %u", name,
                       (unsigned)costs->levels);
    }
    if (costs->machines[0] > FD_SCHEDULED_MACHINES) {
        return fd_fail(error, FD_EINVAL,
                       "%s: planned for at most %d machines, not %u", name,
                       FD_SCHEDULED_MACHINES, (unsigned)costs->machines[0]);
    }
    if (costs->memory != FD_MEMORY_FREE
        && costs->memory != FD_MEMORY_FLUSHED) {
        return fd_fail(error, FD_EINVAL,
                       "%s is synchronous: its memory model is flushed", name);
    }
    return FD_OK;
}

static fd_scheduled_request
request_for(const fd_pipeline *pipeline, const fd_pipeline_request *request,
            const fd_costs *costs)
{
    return (fd_scheduled_request){.states = &pipeline->states,
                                  .costs = costs,
                                  .layers = pipeline->layers.count,
                                  .schedule = request->schedule,
                                  .micro_batches = request->micro_batches,
                                  .chunks = request->chunks,
                                  .forbidden = FD_NO_STATE,
                                  .effort = request->effort,
                                  .watch = request->watch};
}

/* Set the bytes of each rank, on each of its parts. */
static fd_status
add_memory(fd_optimum *to, const fd_pipeline_request *request,
           const fd_costs *costs, const fd_states *states,
           const fd_scheduled *found)
{
    const fd_chain *chain = &found->best;
    fd_compiled compiled;
    fd_plan_request plan = {.schedule = request->schedule,
                            .stages = chain->ranks,
                            .micro_batches = request->micro_batches,
                            .chunks = found->chunks};
    fd_status status = fd_compiled_make(&compiled, &plan, NULL);
    fd_part *parts = fd_calloc(chain->count, sizeof *parts);
    status = status == FD_OK && parts == NULL ? FD_ENOMEM : status;
    for (uint32_t i = 0; i < chain->count && status == FD_OK; i++) {
        parts[i] = fd_part_of(costs, states, fd_chain_block(chain, i),
                              chain->machines[i]);
    }
    for (uint32_t i = 0; i < chain->count && status == FD_OK; i++) {
        uint32_t rank = fd_plan_holder(&compiled.plan, i);
        to->stages.list[i].memory = fd_compiled_memory(&compiled, rank, parts);
    }
    fd_compiled_clear(&compiled);
    fd_free(parts);
    return status;
}

/* Convert a chain to stages of one level. */
static fd_status
as_stages(fd_optimum *to, const fd_pipeline_request *request,
          const fd_costs *costs, const fd_states *states,
          const fd_scheduled *found)
{
    const fd_chain *chain = &found->best;
    uint32_t used = 0;
    fd_status status = FD_OK;
    to->stages.count = 0;
    to->time = 0;
    for (uint32_t i = 0; i < chain->ranks; i++) {
        used += chain->machines[i];
    }
    to->unused = costs->machines[0] - used;
    for (uint32_t i = 0; i < chain->count && status == FD_OK; i++) {
        fd_block block = fd_chain_block(chain, i);
        uint32_t machines = chain->machines[i];
        used -= i < chain->ranks ? machines : 0;
        fd_stage_cost cost = fd_stage_costs(
            costs, states, 0, fd_state_sum(states->times, block), block,
            machines, block.first == FD_NO_STATE);
        fd_stage stage = {.block = block,
                          .machines = machines,
                          .after = i < chain->ranks ? used : 0,
                          .cost = cost};
        to->time = fmax(to->time, fmax(cost.compute + cost.reduce,
                                       fmax(cost.in, cost.out)));
        status = fd_vector_push(&to->stages, stage);
    }
    to->bound =
        fmin(to->bound, to->time); /* equal times can differ by rounding */
    if (status == FD_OK && costs->memory != FD_MEMORY_FREE) {
        status = add_memory(to, request, costs, states, found);
    }
    return status;
}

static fd_status
report_places(const fd_pipeline *pipeline, fd_error *error)
{
    return fd_fail(error, FD_EINVAL, "no plan: the graph has %u places to cut",
                   (unsigned)pipeline->states.count - 1);
}

/* Report the rank with the largest deficit of memory in the best plan without
 * a limit. */
static fd_status
report_memory(const fd_pipeline *pipeline, const fd_pipeline_request *request,
              fd_error *error)
{
    fd_costs free = request->costs;
    free.memory = FD_MEMORY_FREE;
    fd_scheduled found;
    fd_optimum stages = {.time = 0};
    fd_scheduled_request without = request_for(pipeline, request, &free);
    fd_status status = fd_scheduled_find(&found, &without, error);
    if (status == FD_EINVAL) {
        status = report_places(pipeline, error);
    }
    if (status == FD_OK) {
        status = as_stages(&stages, request, &request->costs,
                           &pipeline->states, &found);
    }
    if (status == FD_OK) {
        uint32_t worst = 0;
        for (uint32_t i = 0; i < found.best.ranks; i++) {
            worst =
                stages.stages.list[i].memory > stages.stages.list[worst].memory
                    ? i
                    : worst;
        }
        double capacity = request->costs.capacity;
        status = fd_fail(
            error, FD_EINVAL,
            "no plan for %s was found that fits into %.4g bytes per "
            "machine: without the bound the rank of stage %u lacks "
            "%.4g bytes",
            fd_schedule_name(request->schedule), capacity, (unsigned)worst,
            stages.stages.list[worst].memory - capacity);
    }
    fd_optimum_clear(&stages);
    fd_scheduled_clear(&found);
    return status;
}

static fd_status
report_none(const fd_pipeline *pipeline, const fd_pipeline_request *request,
            fd_error *error)
{
    const fd_costs *costs = &request->costs;
    uint32_t ranks = costs->straight && !costs->fewer ? costs->machines[0] : 1;
    fd_plan plan;
    fd_plan_request engine = {.schedule = request->schedule,
                              .stages = ranks,
                              .micro_batches = request->micro_batches,
                              .chunks = request->chunks};
    fd_status status = fd_plan_make(&plan, &engine, error);
    uint32_t parts = ranks * plan.chunks;
    fd_plan_clear(&plan);
    if (status != FD_OK) {
        return status;
    }
    if (parts > pipeline->layers.count) {
        return fd_fail(error, FD_EINVAL,
                       "%u stages of at least one layer: the graph has %u "
                       "layers",
                       (unsigned)parts, (unsigned)pipeline->layers.count);
    }
    return costs->memory != FD_MEMORY_FREE
             ? report_memory(pipeline, request, error)
             : report_places(pipeline, error);
}

/* Find the best plan without one of the cuts of the best one: one search per
 * cut. */
static fd_status
find_second(fd_pipeline *pipeline, const fd_pipeline_request *request)
{
    fd_scheduled_request other =
        request_for(pipeline, request, &request->costs);
    const fd_chain *best = &pipeline->scheduled.best;
    fd_status status = FD_OK;
    double bound = INFINITY;
    pipeline->second_step = INFINITY;
    for (uint32_t i = 0; i < best->count; i++) {
        if (i + 1 == best->count && best->count > 1) {
            break;
        }
        other.cut_once = best->count == 1;
        other.forbidden = best->count == 1 ? FD_NO_STATE : best->ends[i];
        fd_scheduled found;
        status = fd_scheduled_find(&found, &other, NULL);
        bound = status == FD_OK ? fmin(bound, found.bound) : bound;
        if (status == FD_OK && found.best.time < pipeline->second_step) {
            pipeline->second_step = found.best.time;
            status = as_stages(&pipeline->second, request, &request->costs,
                               &pipeline->states, &found);
        }
        fd_scheduled_clear(&found);
        if (status == FD_ENOMEM) {
            return status;
        }
    }
    pipeline->second.bound = fmin(bound, pipeline->second_step);
    return FD_OK;
}

static fd_status
step_of(const fd_pipeline *pipeline, const fd_pipeline_request *request,
        const fd_costs *costs, fd_bounded_time *to)
{
    fd_scheduled found;
    fd_scheduled_request changed = request_for(pipeline, request, costs);
    fd_status status = fd_scheduled_find(&found, &changed, NULL);
    *to = (fd_bounded_time){INFINITY, INFINITY};
    if (status == FD_OK) {
        *to = (fd_bounded_time){found.best.time, found.bound};
    }
    fd_scheduled_clear(&found);
    return status == FD_EINVAL ? FD_OK : status;
}

static fd_status
find_gains(fd_pipeline *pipeline, const fd_pipeline_request *request)
{
    fd_costs changed = request->costs;
    changed.machines[0]++;
    fd_status status =
        step_of(pipeline, request, &changed, &pipeline->one_more);
    if (status == FD_OK) {
        changed = request->costs;
        changed.bandwidths[0] *= 2;
        status = step_of(pipeline, request, &changed, &pipeline->twice);
    }
    return status;
}

fd_status
fd_synchronous_find(fd_pipeline *pipeline, const fd_pipeline_request *request,
                    fd_error *error)
{
    fd_scheduled_request best =
        request_for(pipeline, request, &request->costs);
    best.asynchronous = isfinite(pipeline->best.time) ? &pipeline->best : NULL;
    fd_status status = fd_scheduled_find(&pipeline->scheduled, &best, error);
    if (status == FD_EINVAL) {
        return report_none(pipeline, request, error);
    }
    if (status == FD_OK) {
        status = as_stages(&pipeline->best, request, &request->costs,
                           &pipeline->states, &pipeline->scheduled);
    }
    if (status == FD_OK && request->second) {
        status = find_second(pipeline, request);
    }
    if (status == FD_OK && request->gains) {
        status = find_gains(pipeline, request);
    }
    return status;
}
