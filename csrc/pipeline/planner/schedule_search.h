/* The pipeline whose step of the optimizer is shortest under a synchronous
 * schedule: what the schedule leaves idle, transfers on its way, and the
 * all-reduce at its end are all in it: each plan is simulated.
 *
 * Best first: plans are begun at the first part, the one of the least bound is
 * carried on, and where the least bound is no better than the best plan that
 * was simulated, that one is proven. For schedules with a part a rank the bound is
 * a sum along the stages (pipeline/planner/suffix_bounds.h); with several, that the layers
 * behind the parts so far fill the ranks that are still to have some. The
 * search begins with plans of equal stages for each number of ranks, climbed
 * from (pipeline/planner/local_search.h), and with the asynchronous plan, so that it is never
 * worse than these wherever it ends.
 *
 * Of plans that take the same time the one that was found first counts; the
 * order of search depends on the layers alone. */
#ifndef FD_SCHEDULE_SEARCH_H
#define FD_SCHEDULE_SEARCH_H

#include "pipeline/planner/local_search.h"
#include "pipeline/planner/lower_bound.h"

/* The innermost level alone; machines that share a stage are many factors. */
enum { FD_SCHEDULED_MACHINES = 256 };

typedef struct fd_scheduled_request {
    const fd_states *states;
    const fd_costs *costs;
    uint32_t layers;
    fd_schedule schedule;
    uint32_t micro_batches;
    uint32_t chunks;                /* a rank; 0: as the schedule has */
    const fd_optimum *asynchronous; /* the asynchronous plan; NULL: none */
    uint32_t forbidden; /* a state at which it may not be cut; FD_NO_STATE */
    bool cut_once;      /* it must be cut at all */
    uint64_t effort; /* at most so many steps of search; 0: a second or two */
    fd_watch *watch; /* NULL: nobody looks on */
} fd_scheduled_request;

typedef struct fd_scheduled {
    fd_chain best;
    double bound;        /* seconds; no plan is shorter. best.time: proven */
    double asynchronous; /* the asynchronous plan simulated; INFINITY: none */
    uint32_t chunks;
} fd_scheduled;

/* FD_EINVAL: no such schedule, or (without a message) no such plan. To be
 * cleared in any case. */
fd_status fd_scheduled_find(fd_scheduled *scheduled,
                            const fd_scheduled_request *request,
                            fd_error *error);
void fd_scheduled_clear(fd_scheduled *scheduled);

#endif
