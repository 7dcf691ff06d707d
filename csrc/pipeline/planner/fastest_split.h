/* The pipeline with the minimum time, between a lower and an upper bound that
 * converge. Each step decides whether a plan of at most some time exists, the
 * first ones close to the lower bound. Such a decision considers far fewer
 * cuts than an optimization, since all times below the cap are equally good.
 *
 *     floor ---- none ----| low      high |---- a plan ---- cap
 *
 * At the end the optimum between the two bounds is computed, and among equals
 * the first one (pipeline/planner/lower_bound.h). */
#ifndef FD_FASTEST_SPLIT_H
#define FD_FASTEST_SPLIT_H

#include "pipeline/planner/lower_bound.h"

/* `request->effort`: of all steps together; 0: some ten seconds. If the effort
 * ends the search, the plan is the better of the best so far and data
 * parallelism over all machines, and its bound is below its time. FD_EINVAL:
 * no plan within the cap. FD_EFULL: no plan was found; the bound is valid.
 * Clear it in any case. */
fd_status fd_optimum_search(fd_optimum *best,
                            const fd_optimum_request *request,
                            fd_error *error);

/* A time, increased by more than rounding errors. */
static inline double
fd_loosened(double time)
{
    return time * (1 + 1e-9);
}

#endif
