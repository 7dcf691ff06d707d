/* Initial solutions of the search under a synchronous schedule: the
 * asynchronous plan, and for each number of ranks (at most 16 of them, and
 * data parallelism) parts of equal time on evenly distributed machines. Each
 * is improved by local search. */
#ifndef FD_INITIAL_SOLUTIONS_H
#define FD_INITIAL_SOLUTIONS_H

#include "pipeline/planner/local_search.h"
#include "pipeline/planner/lower_bound.h"

typedef struct fd_initial_request {
    fd_chain *best;                 /* in and out: the best plan */
    fd_chain *now;                  /* work space */
    const fd_optimum *asynchronous; /* NULL: none */
    uint64_t effort;                /* of each local search */
    double asynchronous_step;       /* out: the step of the asynchronous plan;
                                  INFINITY: schedules with several parts per
                                  rank */
} fd_initial_request;

fd_status fd_initial_solutions(fd_evaluator *evaluator,
                               fd_initial_request *request);

#endif
