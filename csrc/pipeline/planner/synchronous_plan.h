/* Requests for pipelines, their results, and the pipeline with the shortest
 * step under a synchronous schedule, which replaces the asynchronous one. */
#ifndef FD_SYNCHRONOUS_PLAN_H
#define FD_SYNCHRONOUS_PLAN_H

#include "pipeline/planner/schedule_search.h"

typedef struct fd_pipeline_request {
    fd_costs costs;
    uint32_t most_states;   /* 0: as many as take a second or two */
    bool second;            /* look for the second best too */
    bool gains;             /* and for what would help */
    uint32_t micro_batches; /* of a synchronous schedule; 0: asynchronous */
    fd_schedule schedule;   /* with micro-batches */
    uint32_t chunks;        /* a rank; 0: as the schedule has */
    uint64_t effort;        /* of each search; 0: some ten seconds, with a
                               schedule one or two */
    fd_watch *watch;        /* of the search at hand; NULL: nobody looks on */
} fd_pipeline_request;

/* INFINITY: not asked for, or no such plan. */
typedef struct fd_answer {
    double time;
    double bound; /* none is quicker; less where the search did not end */
} fd_answer;

typedef struct fd_pipeline {
    fd_layers layers;
    fd_states states;
    fd_optimum best;
    fd_optimum second; /* lacks a cut of the best, or has one where the best
                             has none; time INFINITY: none, or not asked for */
    fd_scheduled scheduled; /* the best as the schedule has it */
    double second_step;     /* of the second best under the schedule */
    fd_answer one_more;     /* with a machine more at the outermost level */
    fd_answer twice;        /* with twice the bandwidth; with a schedule both
                               are of a step of the optimizer */
} fd_pipeline;

/* FD_EINVAL: numbers out of range, a schedule that no engine runs, fewer layers
 * than parts, or not enough memory: the message names the rank and the missing
 * bytes. */
fd_status fd_synchronous_check(const fd_pipeline_request *request,
                               fd_error *error);
fd_status fd_synchronous_find(fd_pipeline *pipeline,
                              const fd_pipeline_request *request,
                              fd_error *error);

#endif
