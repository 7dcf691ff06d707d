/* The planner: from a model to its layers, states and the optimum. */
#ifndef FD_PLANNER_H
#define FD_PLANNER_H

#include "pipeline/planner/optimum.h"

typedef struct fd_pipeline_request {
    fd_costs costs;
    uint32_t most_states; /* 0: a number that takes one or two seconds */
    uint64_t effort;      /* limit of each search; 0: about ten seconds */
    fd_watch *watch;      /* progress of the current search; or NULL */
} fd_pipeline_request;

typedef struct fd_pipeline {
    fd_layers layers;
    fd_states states; /* all, or two chains of them if these are too many */
    fd_optimum best;
} fd_pipeline;

/* Plan a pipeline; its memory is that of the arena. FD_EINVAL: no layers,
 * numbers out of range, fewer possible cuts than stages, or not enough memory:
 * the message names the stage and the missing bytes. */
fd_status fd_pipeline_find(fd_pipeline *pipeline, fd_arena *arena,
                           const fd_model *model,
                           const fd_pipeline_request *request,
                           fd_error *error);

/* The first and the last layer of a block in the order of planning, and the
 * number of its layers. */
typedef struct fd_block_ends {
    const char *first; /* borrowed from the model */
    const char *last;
    uint32_t layers;
} fd_block_ends;

fd_block_ends fd_pipeline_ends(const fd_pipeline *pipeline,
                               const fd_model *model, fd_block block);

/* Return the stage of a layer among those of level 0, or -1. */
int32_t fd_pipeline_stage(const fd_pipeline *pipeline, uint32_t layer);

#endif
