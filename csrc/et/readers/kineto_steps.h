/* Training steps of a trace, for programs that require ProfilerStep#N. */
#ifndef FD_KINETO_STEPS_H
#define FD_KINETO_STEPS_H

#include "et/et_graph.h"

typedef struct fd_kineto_step {
    int64_t begin; /* ns */
    int64_t end;
    uint32_t number;
    uint32_t label; /* its ProfilerStep#N, + 1; 0 for none */
    uint32_t leaf;  /* the operator that took longest and encloses nothing,
                       + 1; 0: none */
    bool busy;      /* it contains GPU work */
} fd_kineto_step;

typedef FD_VECTOR(fd_kineto_step) fd_kineto_steps;

/* The steps labelled in the trace, else the recorded steps of the thread that
 * ran first; in the order of time. */
fd_status fd_kineto_find_steps(const fd_et *et, fd_kineto_steps *steps);

#endif
