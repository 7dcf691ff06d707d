/* Initial solutions of the search under a synchronous schedule: the
 * asynchronous plan, and parts of equal time on evenly distributed machines
 * for at most 16 numbers of ranks and for data parallelism. Each is improved
 * by local search. */
#ifndef FD_INITIAL_SOLUTIONS_H
#define FD_INITIAL_SOLUTIONS_H

#include "pipeline/planner/local_search.h"
#include "pipeline/planner/lower_bound.h"

typedef struct fd_initial_request {
    fd_chain *best;                 /* in and out: the best plan */
    fd_chain *now;                  /* temporary */
    const fd_optimum *asynchronous; /* NULL: no such plan */
    uint64_t effort;                /* limit of each local search */
    /* out: time of a step of the asynchronous plan; INFINITY: unknown, for
     * schedules with several parts per rank */
    double asynchronous_step;
} fd_initial_request;

fd_status fd_initial_solutions(fd_evaluator *evaluator,
                               fd_initial_request *request);

#endif
