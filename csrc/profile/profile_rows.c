#include "profile/profile_rows.h"

#include <math.h>

static bool
inside_own_group(const fd_trace *trace, const fd_groups *groups, uint32_t id)
{
    uint32_t group = groups->of_context[id];
    uint32_t at = trace->contexts.list[id].parent;
    while (at != 0 && groups->of_context[at] != group) {
        at = trace->contexts.list[at].parent;
    }
    return at != 0;
}

double
fd_deviation(double squares, uint64_t sum, uint64_t steps)
{
    double mean = (double)sum / (double)steps;
    double variance = squares / (double)steps - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

static void
add_outermost(fd_row *row, const fd_total *total, uint64_t steps)
{
    row->ops += total->ops;
    row->total += total->total;
    row->gpu_total += total->gpu_total;
    row->gpu_starved += total->gpu_starved;
    row->backward =
        (int64_t)((uint64_t)row->backward + (uint64_t)total->backward);
    if (steps > 0) {
        row->step_mean += (double)total->total_stepped / (double)steps;
        row->step_deviation +=
            fd_deviation(total->total_squares, total->total_stepped, steps);
    }
}

fd_status
fd_rows_sum(fd_rows *rows, const fd_trace *trace, const fd_groups *groups,
            const fd_totals *totals)
{
    rows->list = fd_calloc(groups->list.count, sizeof *rows->list);
    if (rows->list == NULL) {
        return FD_ENOMEM;
    }
    rows->count = groups->list.count;
    rows->room = rows->count;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_total *total = &totals->list[i];
        fd_row *row = &rows->list[groups->of_context[i]];
        row->calls += total->calls;
        row->resumes += total->resumes;
        row->self += total->self;
        row->async += total->async;
        row->gpu_calls += total->gpu_calls;
        row->gpu_self += total->gpu_self;
        if ((trace->contexts.list[i].flags & FD_CONTEXT_HIDDEN) != 0) {
            row->hidden += total->calls;
        }
        if (groups->of_context[i] != 0
            && !inside_own_group(trace, groups, i)) {
            add_outermost(row, total, totals->steps);
        }
    }
    rows->list[0] = (fd_row){.calls = 0};
    return FD_OK;
}
