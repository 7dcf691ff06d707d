/* Jobs that a program names itself: fastdispatch.job. Needs the GIL. */
#ifndef FD_ENGINE_JOBS_H
#define FD_ENGINE_JOBS_H

#include "capture/state/session_state.h"

/* A job of this kind begins, identified by `object`; `what` has its numbers.
 * It is a range (ranges.h) and, where the timeline has jobs, a record. */
void fd_job_start(fd_thread *thread, const char *kind, const fd_job *what,
                  const void *object, bool timed);

/* The latest job of `object` that is open on this thread ends, if any. */
void fd_job_end(fd_thread *thread, const void *object, bool timed);

#endif
