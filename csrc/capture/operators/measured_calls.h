/* Measured figures of operators, at their start: CallGraph(measure=...). */
#ifndef FD_MEASURED_CALLS_H
#define FD_MEASURED_CALLS_H

#include "capture/state/session_state.h"

/* Measure the operator of `record`, after its entry was pushed, in a measured
 * step. An operator inside another one that was counted is not counted. */
void fd_measured_start(fd_thread *thread, const void *record);

#endif
