/* A trace reduced to some of its steps: figures, times of threads and steps
 * are the differences between two marks. */
#ifndef FD_STEP_WINDOW_H
#define FD_STEP_WINDOW_H

#include "trace/trace.h"

/* Replace the trace, which is sorted, by that of the selected steps of its
 * ranks. If a rank has none, nothing changes: ranks of different spans would
 * not be comparable. GPU figures, measures, counters, open calls and the timeline are
 * still those of the whole recording. FD_ENOMEM is the only failure. */
fd_status fd_window_apply(fd_trace **trace);

#endif
