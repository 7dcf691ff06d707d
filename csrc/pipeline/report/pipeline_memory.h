/* Memory of a rank for backward passes. */
#ifndef FD_PIPELINE_MEMORY_H
#define FD_PIPELINE_MEMORY_H

#include "pipeline/report/pipeline_stats.h"

/* Of the jobs of a cell: the maximum number of forward passes, over chunks,
 * before their backward pass (W if separate), and the maximum of bytes of
 * activations and gradients transferred for them. */
fd_status fd_pipeline_in_flight(const fd_pipe *p, fd_pipe_cell cell,
                                uint32_t *in_flight, uint64_t *bytes);

#endif
