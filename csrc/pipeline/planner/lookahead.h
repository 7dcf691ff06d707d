/* What the rest of a synchronous pipeline takes at least: behind each state, on
 * so many machines, whatever the cuts. By dynamic programming from the end, one
 * line of bounds (pipeline/planner/plan_part.h) at a time:
 *
 *     L[s][m] = min over k behind s, m' of max(busy, step + L[k][m - m'])
 *
 *     values   [ before all: line 0: 0 machines, 1, ... M | line 1 ][ state 0 ] ... */
#ifndef FD_LOOKAHEAD_H
#define FD_LOOKAHEAD_H

#include "pipeline/planner/plan_part.h"

typedef struct fd_lookahead {
    uint32_t machines;
    double *values; /* owned; INFINITY: more than the cap, or not at all */
} fd_lookahead;

typedef struct fd_lookahead_request {
    const fd_states *states;
    const fd_costs *costs;
    uint32_t micro_batches;
    bool apart; /* as of fd_part_lines */
    double cap; /* no value above counts */
} fd_lookahead_request;

/* To be cleared in any case. */
fd_status fd_lookahead_make(fd_lookahead *ahead,
                            const fd_lookahead_request *request);
void fd_lookahead_clear(fd_lookahead *ahead);

/* Values for 0 machines on, behind `state` (FD_NO_STATE: from the beginning). */
static inline double *
fd_lookahead_at(const fd_lookahead *ahead, uint32_t state, int line)
{
    size_t row = state == FD_NO_STATE ? 0 : (size_t)state + 1;
    row = row * FD_LINES + (size_t)line;
    return &ahead->values[row * (ahead->machines + 1)];
}

#endif
