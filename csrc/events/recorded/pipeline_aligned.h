/* The jobs of all ranks of a trace on one clock, and what is to be said of
 * them. */
#ifndef FD_PIPELINE_ALIGNED_H
#define FD_PIPELINE_ALIGNED_H

#include "pipeline/report/pipeline_report.h"
#include "pipeline/report/recorded_jobs.h"

/* `known` has one a rank of the trace; its clocks are set here. The report is
 * to be cleared in any case. */
fd_status fd_timeline_pipeline(fd_pipe_report *report, const fd_trace *trace,
                               fd_pipe_known *known,
                               const fd_pipe_request *request,
                               fd_error *error);

#endif
