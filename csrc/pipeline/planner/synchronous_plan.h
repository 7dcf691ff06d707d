/* Requests for pipelines, their results, and the pipeline with the shortest
 * step under a synchronous schedule, which replaces the asynchronous one. */
#ifndef FD_SYNCHRONOUS_PLAN_H
#define FD_SYNCHRONOUS_PLAN_H

#include "pipeline/planner/schedule_search.h"

typedef struct fd_pipeline_request {
    fd_costs costs;
    uint32_t most_states;   /* 0: a number that takes one or two seconds */
    bool second;            /* find the second best plan */
    bool gains;             /* compute gains */
    uint32_t micro_batches; /* of a synchronous schedule; 0: asynchronous */
    fd_schedule schedule;   /* with micro-batches */
    uint32_t chunks;        /* per rank; 0: default of the schedule */
    uint64_t effort;        /* limit of each search; 0: about ten seconds, with
                             * a schedule one or two */
    fd_watch *watch;        /* progress of the current search; or NULL */
} fd_pipeline_request;

/* A time and its lower bound. INFINITY: not requested, or no such plan. */
typedef struct fd_bounded_time {
    double time;
    double bound; /* lower bound; below `time` if the search did not end */
} fd_bounded_time;

typedef struct fd_pipeline {
    fd_layers layers;
    fd_states states;
    fd_optimum best;
    /* the best plan without one of the cuts of the best one, or with a cut if
     * the best has no cut; time INFINITY: not found or not requested */
    fd_optimum second;
    fd_scheduled scheduled; /* the best plan under the schedule */
    double second_step;     /* seconds of the second best plan under the
                             * schedule */
    /* with one more machine at the outermost level */
    fd_bounded_time one_more;
    /* with twice the bandwidth; with a schedule, both times are steps of the
     * optimizer */
    fd_bounded_time twice;
} fd_pipeline;

/* Check a request. FD_EINVAL: numbers out of range, a schedule that no engine
 * runs, fewer layers than parts, or not enough memory: the message names the
 * rank and the missing bytes. */
fd_status fd_synchronous_check(const fd_pipeline_request *request,
                               fd_error *error);
fd_status fd_synchronous_find(fd_pipeline *pipeline,
                              const fd_pipeline_request *request,
                              fd_error *error);

#endif
