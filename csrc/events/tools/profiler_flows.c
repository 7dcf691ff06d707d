#include "events/tools/profiler_flows.h"

#include "base/budget.h"

void
fd_profiler_flows_clear(fd_profiler_flows *flows)
{
    fd_map_clear(&flows->started);
    fd_vector_clear(&flows->starts);
}

void
fd_profiler_flows_begin(fd_profiler_flows *flows, fd_profiler_flows_side side,
                        uint64_t index, const fd_clock_map *clock)
{
    if (side != FD_PROFILER_FLOWS_ENDS) {
        fd_map_clear(&flows->started);
        flows->starts.count = 0;
        flows->input = index;
    }
    flows->side = side;
    flows->clock = *clock;
}

static bool
number_of(const fd_timeline_event *event, uint64_t *number)
{
    return event->phase == 'X' && event->has_start && event->pid.from != NULL
        && event->tid.from != NULL
        && fd_timeline_argument(event, "Record function id", number)
        && *number != 0;
}

/* Store the start of a flow. Beyond the bound, or after a failed allocation,
 * the flow is omitted. */
static bool
flow_starts(fd_profiler_flows *flows, uint64_t number, int64_t ns)
{
    return flows->starts.count < fd_budget(FD_PROFILER_MOST_FLOWS)
        && fd_map_get(&flows->started, number) == 0
        && fd_vector_push(&flows->starts, ns) == FD_OK
        && fd_map_put(&flows->started, number, flows->starts.count) == FD_OK;
}

/* End a flow at a call. A flow must not end before it starts, and either
 * program may see the call begin first: the flow ends `*later` ns after the
 * begin of this call. */
static bool
flow_ends(fd_profiler_flows *flows, uint64_t number, int64_t ns,
          int64_t *later)
{
    uint32_t index = fd_map_get(&flows->started, number);
    if (index == 0 || flows->starts.list[index - 1] == FD_TIED) {
        return false;
    }
    int64_t start = flows->starts.list[index - 1];
    *later = start >= ns ? start - ns + 1 : 0;
    flows->starts.list[index - 1] = FD_TIED;
    return true;
}

bool
fd_profiler_flows_find(fd_profiler_flows *flows,
                       const fd_timeline_event *event,
                       fd_timeline_event *arrow)
{
    static const char name[] = "\"record\"";
    const fd_span text = {name, name + sizeof name - 1};
    uint64_t number;
    int64_t later = 0;
    if (flows->side == FD_PROFILER_FLOWS_NOTHING
        || !number_of(event, &number)) {
        return false;
    }
    int64_t ns = fd_clock_apply(&flows->clock, event->start);
    bool begins = flows->side == FD_PROFILER_FLOWS_STARTS;
    if (!(begins ? flow_starts(flows, number, ns)
                 : flow_ends(flows, number, ns, &later))) {
        return false;
    }
    *arrow = (fd_timeline_event){
        .phase = begins ? 's' : 'f',
        .encloses = !begins,
        .has_start = true,
        .start = event->start + later,
        .name = text,
        .cat = text,
        .pid = event->pid,
        .tid = event->tid,
        .id = fd_timeline_argument_text(event, "Record function id")};
    return true;
}
