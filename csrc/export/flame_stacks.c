#include "export/flame_stacks.h"

#include "base/alloc.h"

uint64_t
fd_stacks_weight(const fd_stacks *stacks, uint32_t context)
{
    const fd_total *total = &stacks->totals.list[context];
    switch (stacks->weight) {
    case FD_WEIGHT_TIME:
        return total->self;
    case FD_WEIGHT_GPU:
        return total->gpu_self;
    case FD_WEIGHT_FLOPS:
        return total->flops;
    case FD_WEIGHT_CALLS:
    default:
        return total->calls;
    }
}

/* Sum up the weights, and return that of all threads. */
static uint64_t
sum_up(fd_stacks *stacks)
{
    const fd_trace *trace = stacks->trace;
    stacks->whole[0] = 0;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        stacks->whole[i] = fd_stacks_weight(stacks, i);
    }
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        stacks->whole[trace->contexts.list[i].parent] += stacks->whole[i];
    }
    return stacks->whole[0];
}

/* Link callees from the end, so that siblings are in the order of the
 * trace. */
static void
link_up(fd_stacks *stacks)
{
    const fd_trace *trace = stacks->trace;
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        uint32_t parent = trace->contexts.list[i].parent;
        if (stacks->whole[i] > 0) {
            stacks->next[i] = stacks->first[parent];
            stacks->first[parent] = i;
        }
    }
}

fd_status
fd_stacks_make(fd_stacks *stacks, const fd_trace *trace, int rank,
               fd_export_weight weight)
{
    size_t count = trace->contexts.count;
    *stacks = (fd_stacks){.trace = trace,
                          .weight = weight,
                          .whole = fd_calloc(count, sizeof(uint64_t)),
                          .first = fd_calloc(count, sizeof(uint32_t)),
                          .next = fd_calloc(count, sizeof(uint32_t))};
    if (stacks->whole == NULL || stacks->first == NULL
        || stacks->next == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_totals_sum(&stacks->totals, trace, rank);
    if (status != FD_OK) {
        return status;
    }
    if (sum_up(stacks) == 0 && weight != FD_WEIGHT_CALLS) {
        stacks->weight = FD_WEIGHT_CALLS;
        sum_up(stacks);
    }
    link_up(stacks);
    return FD_OK;
}

void
fd_stacks_clear(fd_stacks *stacks)
{
    fd_free(stacks->whole);
    fd_free(stacks->first);
    fd_free(stacks->next);
    fd_totals_clear(&stacks->totals);
    *stacks = (fd_stacks){.trace = NULL};
}

bool
fd_stacks_walk(const fd_stacks *stacks, fd_stacks_step *step)
{
    uint32_t at = step->context;
    if (at == 0 || step->opens) {
        uint32_t below = stacks->first[at];
        *step = (fd_stacks_step){below != 0 ? below : at, below != 0};
    }
    else {
        uint32_t beside = stacks->next[at];
        *step = beside != 0
                  ? (fd_stacks_step){beside, true}
                  : (fd_stacks_step){stacks->trace->contexts.list[at].parent,
                                     false};
    }
    return step->context != 0;
}
