#include "events/recorded/call_flows.h"

fd_flows
fd_flows_make(const fd_trace_rank *rank, fd_arena *arena)
{
    uint32_t count = rank->events.count;
    if (rank->flows.count == 0) {
        return (fd_flows){.first = NULL};
    }
    fd_flows flows = {fd_arena_new(arena, (size_t)count + 2, sizeof(uint32_t)),
                      fd_arena_new(arena, count, sizeof(uint32_t))};
    for (uint32_t i = 0; i < rank->flows.count; i++) {
        flows.first[rank->flows.list[i].from + 2]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        flows.first[i + 2] += flows.first[i + 1];
    }
    for (uint32_t i = 0; i < rank->flows.count; i++) {
        const fd_trace_flow *flow = &rank->flows.list[i];
        flows.ends[flow->to] = ++flows.first[flow->from + 1];
    }
    return flows;
}

fd_arrow_end
fd_transfers_at(const fd_transfers *transfers, const fd_trace_event *event)
{
    uint32_t low = 0;
    uint32_t high = transfers->count;
    if (event->kind != FD_EVENT_JOB || high == 0) {
        return (fd_arrow_end){0};
    }
    FD_BISECT(low, high, transfers->list[middle].job < event->context);
    const fd_transfer_end *end = &transfers->list[low];
    return low < transfers->count && end->job == event->context
             ? (fd_arrow_end){end->id, end->ends != 0}
             : (fd_arrow_end){0};
}
