/* Tables: one row per group. */
#ifndef FD_PROFILE_ROWS_H
#define FD_PROFILE_ROWS_H

#include "profile/call_groups.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

/* Times are in nanoseconds. In a recursion, the total, the operators and the
 * backward time of the outermost call are counted; they include those of the
 * inner calls. */
typedef struct fd_row {
    uint64_t calls;
    uint64_t resumes;
    uint64_t ops;
    uint64_t self;
    uint64_t total;
    int64_t backward;
    uint64_t async;
    uint64_t hidden;    /* calls that were not recorded by a hook */
    uint64_t gpu_calls; /* calls in sampled steps */
    uint64_t gpu_self;
    uint64_t gpu_total; /* this and the next: outermost calls only, like
                         * total */
    int64_t gpu_backward;
    uint64_t gpu_starved;
    double step_mean;      /* mean of the total over all steps of the ranks */
    double step_deviation; /* standard deviation; for several contexts the sum,
                            * as if they were correlated */
} fd_row;

typedef FD_VECTOR(fd_row) fd_rows; /* by group; entry 0 unused */

extern const fd_table fd_rows_table;

fd_status fd_rows_sum(fd_rows *rows, const fd_trace *trace,
                      const fd_groups *groups, const fd_totals *totals);

#endif
