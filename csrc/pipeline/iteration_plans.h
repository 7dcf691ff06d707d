/* Comparison of the jobs of pipeline engines with the plans of their
 * schedules. Recordings contain the jobs of each iteration and the parameters
 * of its plan (fd_trace_iteration); plans are computed here, when a recording
 * is read. */
#ifndef FD_ITERATION_PLANS_H
#define FD_ITERATION_PLANS_H

#include "trace/trace.h"

/* Compare every iteration of every rank with its plan, once: - jobs that the
 * engine does not number get micro-batch and stage from it; - jobs that the
 * plan does not contain get FD_JOB_UNPLANNED; - the fact "pipeline" gets the
 * schedule, the first difference, or the reason for a missing plan.
 * Recordings of versions that compared while recording stay unchanged. */
fd_status fd_iterations_compare(fd_trace *trace);

#endif
