#include "profile/totals.h"

static uint64_t
difference_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Return the figure with its slowest step replaced by the mean of the
 * others. */
static fd_figure
steady_figure(const fd_figure *figure)
{
    fd_figure made = *figure;
    if (figure->steps >= 2) {
        uint64_t others = difference_of(figure->stepped, figure->self_max);
        uint64_t mean = others / (figure->steps - 1);
        double most = (double)figure->self_max;
        made.stepped = others + mean;
        made.self =
            made.stepped + difference_of(figure->self, figure->stepped);
        made.self_squares += (double)mean * (double)mean - most * most;
    }
    return made;
}

static void
add_figure(fd_total *total, const fd_figure *figure, uint32_t flags)
{
    total->calls += figure->calls;
    total->resumes += figure->resumes;
    if ((flags & FD_CONTEXT_ASYNC) != 0) {
        total->async += figure->self;
        return;
    }
    total->self += figure->self;
    total->self_stepped += figure->stepped;
    total->self_squares += figure->self_squares;
    total->total_squares += figure->total_squares;
    total->least += figure->steps > 1 ? figure->self_min * figure->steps : 0;
    total->steps = figure->steps > total->steps ? figure->steps : total->steps;
}

static void
add_gpu(fd_total *total, const fd_gpu_figure *figure)
{
    total->gpu_calls += figure->calls;
    total->gpu_self += figure->self;
    total->gpu_starved += figure->starved;
    total->gpu_drained += figure->drained;
    total->gpu_launch_bound += figure->launch_bound;
}

static void
add_measure(fd_total *total, const fd_trace_measure *measure)
{
    if (measure->kind == FD_MEASURE_ALLOCATED) {
        total->allocated += measure->sum;
    }
    else if (measure->kind == FD_MEASURE_COMM) {
        total->communicated +=
            measure->sum > measure->other ? measure->sum : measure->other;
    }
}

/* Add the fastest steps of each summed rank, and subtract the slowest one if
 * requested, as add_figure and steady_figure do for a single rank. */
static void
add_spreads(fd_totals *totals, const fd_trace *trace, const fd_trace_rank *sum,
            bool slowest_step)
{
    for (uint32_t i = 0; i < sum->spreads.count; i++) {
        const fd_rank_spread *spread = &sum->spreads.list[i];
        fd_total *total = &totals->list[spread->context];
        uint32_t flags = trace->contexts.list[spread->context].flags;
        if ((flags & FD_CONTEXT_ASYNC) != 0) {
            continue;
        }
        total->least += spread->least;
        if (slowest_step) {
            total->self = difference_of(total->self, spread->late);
            total->self_stepped =
                difference_of(total->self_stepped, spread->late);
            total->self_squares -= spread->late_squares;
        }
    }
}

static void
add_ranks(fd_totals *totals, const fd_trace *trace, int rank, bool steady)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        const fd_trace_rank *from = &trace->ranks.list[i];
        if (rank != FD_ALL_RANKS && (uint32_t)rank != i) {
            continue;
        }
        totals->steps += from->steps;
        bool slowest_step = steady && !from->window.applied;
        for (uint32_t k = 0; k < from->figures.count; k++) {
            const fd_figure *figure = &from->figures.list[k];
            fd_figure made = slowest_step && from->reduced == 0
                               ? steady_figure(figure)
                               : *figure;
            made.self_min = from->reduced == 0 ? made.self_min : 0;
            add_figure(&totals->list[figure->context], &made,
                       trace->contexts.list[figure->context].flags);
        }
        if (from->reduced > 0) {
            add_spreads(totals, trace, from, slowest_step);
        }
        for (uint32_t k = 0; k < from->gpu.count; k++) {
            add_gpu(&totals->list[from->gpu.list[k].context],
                    &from->gpu.list[k]);
        }
        for (uint32_t k = 0; k < from->measures.count; k++) {
            add_measure(&totals->list[from->measures.list[k].context],
                        &from->measures.list[k]);
        }
    }
}

/* Sum up in one pass from the end: a parent's index is lower than its
 * children's. */
static void
sum_up(fd_total *list, const fd_trace *trace)
{
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        const fd_trace_context *context = &trace->contexts.list[i];
        fd_total *above = &list[context->parent];
        list[i].total += list[i].self;
        list[i].total_stepped += list[i].self_stepped;
        if (trace->nodes.list[context->node].kind == FD_NODE_OP) {
            list[i].ops += list[i].calls;
        }
        list[i].gpu_total += list[i].gpu_self;
        above->gpu_total += list[i].gpu_total;
        above->gpu_starved += list[i].gpu_starved;
        above->gpu_drained += list[i].gpu_drained;
        above->total += list[i].total;
        above->total_stepped += list[i].total_stepped;
        above->ops += list[i].ops;
    }
}

static uint32_t
depth_of(const fd_trace *trace, uint32_t id)
{
    uint32_t depth = 0;
    for (; id != 0; id = trace->contexts.list[id].parent) {
        depth++;
    }
    return depth;
}

/* Return the lowest context above both, or 0 if they are in different
 * trees. */
static uint32_t
common_ancestor(const fd_trace *trace, uint32_t a, uint32_t b)
{
    uint32_t deep_a = depth_of(trace, a);
    uint32_t deep_b = depth_of(trace, b);
    for (; deep_a > deep_b; deep_a--) {
        a = trace->contexts.list[a].parent;
    }
    for (; deep_b > deep_a; deep_b--) {
        b = trace->contexts.list[b].parent;
    }
    while (a != b) {
        a = trace->contexts.list[a].parent;
        b = trace->contexts.list[b].parent;
    }
    return a;
}

/* Return the nearest autograd context strictly above, or 0. */
static uint32_t
enclosing_autograd(const fd_trace *trace, uint32_t id)
{
    do {
        id = trace->contexts.list[id].parent;
    } while (id != 0
             && trace->nodes.list[trace->contexts.list[id].node].kind
                    != FD_NODE_AUTOGRAD);
    return id;
}

/* Add with wrap-around for impossible times of a document, as unsigned sums
 * do. */
static void
add_wrapping(int64_t *sum, int64_t more)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)more);
}

/* Add times of a backward pass, or subtract them. */
static void
add_backward(fd_total *to, int64_t time, int64_t gpu)
{
    add_wrapping(&to->backward, time);
    add_wrapping(&to->gpu_backward, gpu);
}

/* Credit one autograd context to its origin. If it ran inside another one
 * (checkpointing recomputes a forward and runs its backward), both are in the
 * backward time of any context that encloses both origins: count it once
 * there. */
static void
credit_origin(fd_totals *totals, const fd_trace *trace, uint32_t id)
{
    const fd_trace_context *context = &trace->contexts.list[id];
    int64_t time = (int64_t)totals->list[id].total;
    int64_t gpu = (int64_t)totals->list[id].gpu_total;
    uint32_t outer = enclosing_autograd(trace, id);
    if (context->origin == 0) {
        return;
    }
    add_backward(&totals->list[context->origin], time, gpu);
    uint32_t outer_origin =
        outer == 0 ? 0 : trace->contexts.list[outer].origin;
    if (outer_origin != 0) {
        uint32_t both = common_ancestor(trace, context->origin, outer_origin);
        add_backward(&totals->list[both], (int64_t)(0 - (uint64_t)time),
                     (int64_t)(0 - (uint64_t)gpu));
    }
}

static void
attribute_backward(fd_totals *totals, const fd_trace *trace)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        if (trace->nodes.list[context->node].kind == FD_NODE_AUTOGRAD) {
            credit_origin(totals, trace, i);
        }
    }
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        uint32_t parent = trace->contexts.list[i].parent;
        add_backward(&totals->list[parent], totals->list[i].backward,
                     totals->list[i].gpu_backward);
    }
}

fd_status
fd_totals_sum(fd_totals *totals, const fd_trace *trace, int rank, bool steady)
{
    *totals = (fd_totals){
        .list = fd_calloc(trace->contexts.count, sizeof *totals->list)};
    if (totals->list == NULL) {
        return FD_ENOMEM;
    }
    add_ranks(totals, trace, rank, steady);
    sum_up(totals->list, trace);
    attribute_backward(totals, trace);
    return FD_OK;
}

void
fd_totals_clear(fd_totals *totals)
{
    fd_free(totals->list);
    *totals = (fd_totals){.list = NULL};
}
