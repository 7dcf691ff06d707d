/* Training steps of a trace, for readers that require ProfilerStep#N. */
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
    bool busy;      /* something in it was on a GPU */
} fd_kineto_step;

typedef FD_VECTOR(fd_kineto_step) fd_kineto_steps;

/* Those that are labelled in the trace, else those of the recording, as the
 * thread went through them that ran first; in the order of time. */
fd_status fd_kineto_find_steps(const fd_et *et, fd_kineto_steps *steps);

#endif
