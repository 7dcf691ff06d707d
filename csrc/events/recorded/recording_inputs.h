/* The clocks of our own recordings made one. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/alignment/clock_alignment.h"
#include "pipeline/report/pipeline_report.h"
#include "pipeline/report/recorded_jobs.h"
#include "trace/export_options.h"

/* One for every rank of a trace that was read with its timeline. `base_ns` is
 * what time 0 is, since 1970. With `strict` FD_EINVAL and one line when it is
 * not known how good that is. */
fd_status fd_timeline_align_trace(const fd_trace *trace,
                                  fd_timeline_align align, bool strict,
                                  fd_export_clock *clocks, int64_t *base_ns,
                                  fd_error *error);

/* The jobs of all ranks of a trace on one clock, with
 * notes about them. */

/* `known` has one a rank of the trace; its clocks are set here. The report is
 * to be cleared in any case. */
fd_status fd_timeline_pipeline(fd_pipe_report *report, const fd_trace *trace,
                               fd_pipe_known *known,
                               const fd_pipe_request *request,
                               fd_error *error);

#endif
