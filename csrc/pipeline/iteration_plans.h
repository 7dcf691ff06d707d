/* What pipeline engines ran, next to the plans of their schedules. Recordings
 * have the jobs of each iteration and what the plan of the schedule depends on
 * (fd_trace_iteration); plans are made here, when a recording is read. */
#ifndef FD_ITERATION_PLANS_H
#define FD_ITERATION_PLANS_H

#include "trace/trace.h"

/* Compare every iteration of every rank with its plan, once:
 *  - jobs that the engine does not number get micro-batch and stage from it;
 *  - jobs that it does not have get FD_JOB_UNPLANNED;
 *  - the fact "pipeline" gets the schedule, the first difference, or a note why
 *    there is no plan.
 * Recordings of versions that compared while they recorded stay as they are. */
fd_status fd_iterations_compare(fd_trace *trace);

#endif
