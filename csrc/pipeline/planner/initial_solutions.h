/* Plans that a search under a synchronous schedule begins with: the
 * asynchronous one, and for each number of ranks (16 of them where there are
 * more) parts of equal time on machines as even as can be; each climbed from. */
#ifndef FD_INITIAL_SOLUTIONS_H
#define FD_INITIAL_SOLUTIONS_H

#include "pipeline/planner/local_search.h"
#include "pipeline/planner/lower_bound.h"

typedef struct fd_initial_request {
    fd_chain *best;                 /* the best so far, and what comes of it */
    fd_chain *now;                  /* to work in */
    const fd_optimum *asynchronous; /* NULL: none */
    uint64_t effort;                /* of each climb */
    double asynchronous_step; /* to be set: the step of the asynchronous plan;
                        INFINITY: schedules with several parts a rank */
} fd_initial_request;

fd_status fd_initial_solutions(fd_evaluator *evaluator,
                               fd_initial_request *request);

#endif
