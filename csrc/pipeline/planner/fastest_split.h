/* The pipeline of least time, between two bounds that come together. Whether
 * there is a plan of at most some time is asked for first, close above the
 * floor: with a cap that is the floor all that is quick enough is as good, so
 * that far less has to be looked at than for the best.
 *
 *     floor ---- none ----| low      high |---- a plan ---- cap
 *
 * At the end the best is looked for between the two, and of those that are as
 * good the first (pipeline/planner/lower_bound.h). */
#ifndef FD_FASTEST_SPLIT_H
#define FD_FASTEST_SPLIT_H

#include "pipeline/planner/lower_bound.h"

/* `request->effort`: of all questions together; 0: some ten seconds. Where that
 * ends the search, the plan is the best so far, or data parallelism over all
 * machines, and its bound is below its time. FD_EINVAL: no plan within the cap.
 * FD_EFULL: no plan was found, and the bound is that of any. To be cleared in
 * any case. */
fd_status fd_optimum_search(fd_optimum *best,
                            const fd_optimum_request *request,
                            fd_error *error);

/* A bound on a time that no rounding gets below. */
static inline double
fd_loosened(double time)
{
    return time * (1 + 1e-9);
}

#endif
