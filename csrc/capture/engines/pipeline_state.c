#include "capture/engines/pipeline_state.h"

#include "base/alloc.h"

fd_engine_pipeline *
fd_pipeline_new(void)
{
    fd_engine_pipeline *pipeline = fd_calloc(1, sizeof *pipeline);
    if (pipeline != NULL) {
        pipeline->stages = -1;
        pipeline->processes = -1;
        pipeline->position = -1;
        pipeline->micro_batches = -1;
    }
    return pipeline;
}

void
fd_pipeline_free(fd_engine_pipeline *pipeline)
{
    if (pipeline == NULL) {
        return;
    }
    fd_vector_clear(&pipeline->counts);
    fd_vector_clear(&pipeline->prepared);
    fd_vector_clear(&pipeline->posted);
    fd_vector_clear(&pipeline->open);
    fd_vector_clear(&pipeline->entered);
    fd_map_clear(&pipeline->matched);
    fd_free(pipeline);
}
