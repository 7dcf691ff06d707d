/* Generators and coroutines that never start. No event of sys.monitoring
 * reports the call that creates one, so the monitor counts it where it starts.
 * This file counts the others where CPython finalizes them: while it watches,
 * it stands in front of the finalizers of the three types. Requires the
 * GIL. */
#ifndef FD_UNSTARTED_GENERATORS_H
#define FD_UNSTARTED_GENERATORS_H

#include "capture/python/pyframe.h"

/* Called with the frame of such a generator. */
typedef void fd_unstarted_call(fd_frame *frame);

void fd_unstarted_watch(fd_unstarted_call *count);

/* Leave finalizers of another tool that stand in front in place. */
void fd_unstarted_ignore(void);

#endif
