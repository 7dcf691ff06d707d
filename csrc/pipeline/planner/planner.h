/* From a model to its pipeline: layers, states, the optimum, and what would
 * change it. */
#ifndef FD_PLANNER_H
#define FD_PLANNER_H

#include "pipeline/planner/synchronous_plan.h"

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
