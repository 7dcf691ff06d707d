/* Lower bounds of the rest of a synchronous pipeline: from each state on, on a
 * number of machines, for any cuts. Computed by dynamic programming from the
 * end, for each line of bounds (pipeline/planner/plan_part.h):
 *
 *     L[s][m] = min over k after s, m' of max(busy, step + L[k][m - m'])
 *
 *     values   [ before all: line 0: 0 machines, 1, ... M | line 1 ][ state 0 ] ... */
#ifndef FD_SUFFIX_BOUNDS_H
#define FD_SUFFIX_BOUNDS_H

#include "pipeline/planner/plan_part.h"

typedef struct fd_suffix_bounds {
    uint32_t machines;
    double *values; /* owned; INFINITY: above the cap, or no plan */
} fd_suffix_bounds;

typedef struct fd_suffix_bounds_request {
    const fd_states *states;
    const fd_costs *costs;
    uint32_t micro_batches;
    bool apart; /* see fd_part_lines */
    double cap; /* maximum of a value */
} fd_suffix_bounds_request;

/* Compute the bounds. Clear them also after a failure. */
fd_status fd_suffix_bounds_make(fd_suffix_bounds *bounds,
                                const fd_suffix_bounds_request *request);
void fd_suffix_bounds_clear(fd_suffix_bounds *bounds);

/* Return the values for 0, 1, ... machines from `state` on (FD_NO_STATE: the
 * beginning). */
static inline double *
fd_suffix_bounds_at(const fd_suffix_bounds *bounds, uint32_t state, int line)
{
    size_t row = state == FD_NO_STATE ? 0 : (size_t)state + 1;
    row = row * FD_LINES + (size_t)line;
    return &bounds->values[row * (bounds->machines + 1)];
}

#endif
