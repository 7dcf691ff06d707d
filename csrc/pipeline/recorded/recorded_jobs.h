/* Conversion of the jobs of a recording or a merge to a pipeline. */
#ifndef FD_RECORDED_JOBS_H
#define FD_RECORDED_JOBS_H

#include "clocks/clock_map.h"
#include "pipeline/recorded/pipeline_stats.h"
#include "trace/trace.h"

/* Facts of a rank in addition to its jobs. */
typedef struct fd_pipe_known {
    int32_t position; /* -1: unknown, like the next numbers */
    int32_t data;
    int32_t model;
    int64_t unsure;     /* maximum error of its clock in ns */
    fd_clock_map clock; /* offset from its clock to the common clock */
} fd_pipe_known;

/* Add the jobs of a rank. Jobs of evaluations are counted and skipped. */
fd_status fd_pipe_read_rank(fd_pipe *p, const fd_trace *trace,
                            const fd_trace_rank *rank,
                            const fd_pipe_known *known);

/* Add the jobs of all ranks and settle the pipeline. `known` has one entry per
 * rank of the trace. Clear the pipeline also after a failure. */
fd_status fd_pipe_read(fd_pipe *p, const fd_trace *trace,
                       const fd_pipe_known *known);

#endif
