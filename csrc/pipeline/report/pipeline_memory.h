/* How much a rank holds for backward passes at a time. */
#ifndef FD_PIPELINE_MEMORY_H
#define FD_PIPELINE_MEMORY_H

#include "pipeline/report/pipeline_stats.h"

/* Of the jobs of a cell: the most forward passes, over chunks, whose backward
 * pass (W where it is apart) has not been; and the most bytes of activations
 * and gradients that were moved for those. */
fd_status fd_pipeline_in_flight(const fd_pipe *p, fd_pipe_cell cell,
                                uint32_t *in_flight, uint64_t *bytes);

#endif
