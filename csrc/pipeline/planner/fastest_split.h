/* Search for the pipeline with the minimum time, by a lower and an upper bound
 * that converge. Each step decides whether a plan within some time exists, the
 * first ones close to the lower bound. Such a decision considers far fewer
 * cuts than an optimization, since all times below the cap are equally good.
 *
 *     floor --- no plan --| low      high |---- a plan ---- cap
 *
 * At the end the optimum between the two bounds is computed, and of equal
 * plans the first one (pipeline/planner/optimum.h). */
#ifndef FD_FASTEST_SPLIT_H
#define FD_FASTEST_SPLIT_H

#include "pipeline/planner/optimum.h"

/* Run the search. `request->effort` limits all steps together; 0: about ten
 * seconds. If this ends the search, the plan is the best one so far, and its
 * bound is below its time. FD_EINVAL: no plan within the cap. FD_EFULL: no
 * plan was found. */
fd_status fd_optimum_search(fd_optimum *best, fd_arena *arena,
                            const fd_optimum_request *request);

/* Return a time increased by more than rounding errors. */
static inline double
fd_loosened(double time)
{
    return time * (1 + 1e-9);
}

#endif
