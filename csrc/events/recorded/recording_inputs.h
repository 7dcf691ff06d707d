/* Alignment of the clocks of recordings. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/alignment/clock_alignment.h"
#include "pipeline/report/pipeline_report.h"
#include "pipeline/report/recorded_jobs.h"
#include "trace/export_options.h"

/* Set one clock per rank of a trace that was read with its timeline. `base_ns`
 * is the real time of time 0, in ns since 1970. With `strict`, return
 * FD_EINVAL and a one-line message if the accuracy is unknown. */
fd_status fd_timeline_align_trace(const fd_trace *trace,
                                  fd_timeline_align align, bool strict,
                                  fd_export_clock *clocks, int64_t *base_ns,
                                  fd_error *error);

/* The jobs of all ranks of a trace on one clock, with notes about them. */

/* Make the report. `known` has one entry per rank of the trace, whose clocks
 * are set here. Clear the report also after a failure. */
fd_status fd_timeline_pipeline(fd_pipe_report *report, const fd_trace *trace,
                               fd_pipe_known *known,
                               const fd_pipe_request *request,
                               fd_error *error);

#endif
