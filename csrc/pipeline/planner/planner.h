/* From a model to its pipeline: layers, states, the optimum, and what would
 * change it. */
#ifndef FD_PLANNER_H
#define FD_PLANNER_H

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

/* FD_EINVAL: no layers, figures out of range, fewer places to cut than
 * stages, or no room: the message says in which stage, and how much is
 * missing. To be cleared in any case. */
fd_status fd_pipeline_find(fd_pipeline *pipeline, const fd_model *model,
                           const fd_pipeline_request *request,
                           fd_error *error);
void fd_pipeline_clear(fd_pipeline *pipeline);

/* The first and the last layer of a block by id in the order of planning, and
 * how many it has. */
typedef struct fd_block_ends {
    const char *first; /* borrowed from the model */
    const char *last;
    uint32_t layers;
} fd_block_ends;

fd_block_ends fd_pipeline_ends(const fd_pipeline *pipeline,
                               const fd_model *model, fd_block block);

/* The stage of each node of the model among those of level 0; nodes left out
 * of planning are with what takes or makes their output. */
fd_status fd_pipeline_stages(const fd_pipeline *pipeline,
                             const fd_model *model, int32_t *stages);

#endif
