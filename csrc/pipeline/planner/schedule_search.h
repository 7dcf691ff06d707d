/* The pipeline with the shortest step of the optimizer under a synchronous
 * schedule. A step includes idle time, transfers and the final all-reduce:
 * each complete plan is simulated.
 *
 * Best-first branch and bound: plans grow from the first part on, and the one
 * with the lowest bound is extended next. The best simulated plan is optimal
 * if no bound is below its time. With one part per rank, the bound is a sum
 * along the stages (pipeline/planner/suffix_bounds.h); with several, the
 * remaining layers are distributed evenly over the ranks that may have more
 * parts. The initial solutions (pipeline/planner/initial_solutions.h) are an
 * upper bound: the result is never worse, whenever the search ends.
 *
 * Among plans of equal time the first one found counts; the order of search
 * depends on the layers only. */
#ifndef FD_SCHEDULE_SEARCH_H
#define FD_SCHEDULE_SEARCH_H

#include "pipeline/planner/local_search.h"
#include "pipeline/planner/lower_bound.h"

/* Limits the number of combinations; plans have one level of machines. */
enum { FD_SCHEDULED_MACHINES = 256 };

typedef struct fd_scheduled_request {
    const fd_states *states;
    const fd_costs *costs;
    uint32_t layers;
    fd_schedule schedule;
    uint32_t micro_batches;
    /* per rank; 0: the default of the schedule */
    uint32_t chunks;
    /* the asynchronous plan; NULL: no such plan */
    const fd_optimum *asynchronous;
    uint32_t forbidden; /* a forbidden cut, or FD_NO_STATE */
    bool cut_once;      /* at least one cut is required */
    uint64_t effort;    /* maximum number of search steps; 0: one or two
                      * seconds */
    fd_watch *watch;    /* NULL: no progress report */
} fd_scheduled_request;

typedef struct fd_scheduled {
    fd_chain best;
    double bound;        /* lower bound in seconds; equal to best.time:
                          * optimal */
    double asynchronous; /* seconds of the asynchronous plan, simulated;
                          * INFINITY: no such plan */
    uint32_t chunks;
} fd_scheduled;

/* Run the search. FD_EINVAL: unknown schedule; without a message: no such
 * plan. Clear the result also after a failure. */
fd_status fd_scheduled_find(fd_scheduled *scheduled,
                            const fd_scheduled_request *request,
                            fd_error *error);
void fd_scheduled_clear(fd_scheduled *scheduled);

#endif
