#include "profile/profile_rows.h"

#include <math.h>

static const fd_column row_columns[] = {
    FD_COLUMN(fd_row, "calls", U64, calls),
    FD_COLUMN(fd_row, "resumes", U64, resumes),
    FD_COLUMN(fd_row, "ops", U64, ops),
    FD_COLUMN_IN("ns", fd_row, "self", U64, self),
    FD_COLUMN_IN("ns", fd_row, "total", U64, total),
    FD_COLUMN_IN("ns", fd_row, "backward", I64, backward),
    FD_COLUMN_IN("ns", fd_row, "async", U64, async),
    FD_COLUMN(fd_row, "hidden", U64, hidden),
    FD_COLUMN(fd_row, "gpu_calls", U64, gpu_calls),
    FD_COLUMN_IN("ns", fd_row, "gpu_self", U64, gpu_self),
    FD_COLUMN_IN("ns", fd_row, "gpu_total", U64, gpu_total),
    FD_COLUMN_IN("ns", fd_row, "gpu_backward", I64, gpu_backward),
    FD_COLUMN(fd_row, "gpu_starved", U64, gpu_starved),
    FD_COLUMN_IN("ns", fd_row, "step_mean", DOUBLE, step_mean),
    FD_COLUMN_IN("ns", fd_row, "step_deviation", DOUBLE, step_deviation),
};
const fd_table fd_rows_table = FD_TABLE("rows", row_columns, fd_row, true);

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

/* Return the standard deviation over all steps: a step without calls is
 * counted as 0. */
static double
deviation_of(double squares, uint64_t sum, uint64_t steps)
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
    row->gpu_backward =
        (int64_t)((uint64_t)row->gpu_backward + (uint64_t)total->gpu_backward);
    if (steps > 0) {
        row->step_mean += (double)total->total_stepped / (double)steps;
        row->step_deviation +=
            deviation_of(total->total_squares, total->total_stepped, steps);
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
    rows->capacity = rows->count;
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
