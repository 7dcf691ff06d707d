/* Jobs declared by the program: fastdispatch.job. Requires the GIL. */
#ifndef FD_ENGINE_JOBS_H
#define FD_ENGINE_JOBS_H

#include "capture/state/session_state.h"

/* Begin a job of this kind, identified by `object`, with the numbers in
 * `what`. A job is a range (ranges.h) and, if the timeline has jobs, a
 * record. */
void fd_job_start(fd_thread *thread, const char *kind, const fd_job *what,
                  const void *object, bool timed);

/* End the latest open job of `object` on this thread, if any. */
void fd_job_end(fd_thread *thread, const void *object, bool timed);

#endif
