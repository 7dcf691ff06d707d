/* Alignment of the clocks of recordings. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/alignment/clock_alignment.h"
#include "pipeline/recorded/pipeline_match.h"
#include "pipeline/recorded/recorded_jobs.h"
#include "trace/export_options.h"

/* Set one clock per rank of a trace that was read with its timeline. `base_ns`
 * is the real time of time 0, in ns since 1970. With `strict`, return
 * FD_EINVAL and a one-line message if the accuracy is unknown. */
fd_status fd_timeline_align_trace(const fd_trace *trace,
                                  fd_timeline_align align, bool strict,
                                  fd_export_clock *clocks, int64_t *base_ns,
                                  fd_error *error);

/* Read the jobs of all ranks of a trace on one clock, and match their
 * transfers. `known` has one entry per rank of the trace, whose clocks are set
 * here. With `strict`, return FD_EINVAL if clocks of a line are not aligned.
 * Clear the results also after a failure. */
fd_status fd_timeline_jobs(fd_pipe *p, fd_pipe_matches *found,
                           const fd_trace *trace, fd_pipe_known *known,
                           bool strict, fd_error *error);

#endif
