/* Tables: one row per group. */
#ifndef FD_PROFILE_ROWS_H
#define FD_PROFILE_ROWS_H

#include "profile/call_groups.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

/* Nanoseconds. In a recursion the total, the operators and the backward time
 * of the outermost call count, those of the calls inside are part of them. */
typedef struct fd_row {
    uint64_t calls;
    uint64_t resumes;
    uint64_t ops;
    uint64_t self;
    uint64_t total;
    int64_t backward;
    uint64_t async;
    uint64_t hidden;    /* calls that no hook recorded */
    uint64_t gpu_calls; /* in sampled steps */
    uint64_t gpu_self;
    uint64_t gpu_total; /* this and the next as total above */
    uint64_t gpu_starved;
    double step_mean;      /* of the total, over all steps of the ranks */
    double step_deviation; /* standard deviation; for several contexts the sum,
                              as if correlated */
} fd_row;

typedef FD_VECTOR(fd_row) fd_rows; /* by group; entry 0 unused */

extern const fd_table fd_rows_table;

/* The standard deviation over all steps: one in which nothing happened counts
 * as 0. */
double fd_deviation(double squares, uint64_t sum, uint64_t steps);

fd_status fd_rows_sum(fd_rows *rows, const fd_trace *trace,
                      const fd_groups *groups, const fd_totals *totals);

#endif
