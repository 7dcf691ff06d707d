/* The planner: from a model to its layers, states, optimum, and gains. */
#ifndef FD_PLANNER_H
#define FD_PLANNER_H

#include "pipeline/planner/synchronous_plan.h"

/* Plan a pipeline. FD_EINVAL: no layers, numbers out of range, fewer possible
 * cuts than stages, or not enough memory: the message names the stage and the
 * missing bytes. Clear the pipeline also after a failure. */
fd_status fd_pipeline_find(fd_pipeline *pipeline, const fd_model *model,
                           const fd_pipeline_request *request,
                           fd_error *error);
void fd_pipeline_clear(fd_pipeline *pipeline);

/* The first and the last layer of a block in the order of planning, and the
 * number of its layers. */
typedef struct fd_block_ends {
    const char *first; /* borrowed from the model */
    const char *last;
    uint32_t layers;
} fd_block_ends;

fd_block_ends fd_pipeline_ends(const fd_pipeline *pipeline,
                               const fd_model *model, fd_block block);

/* Set the stage of each node of the model, among those of level 0. Excluded
 * nodes get the stage of a neighbour. */
fd_status fd_pipeline_stages(const fd_pipeline *pipeline,
                             const fd_model *model, int32_t *stages);

#endif
