/* Additional C stack for a thread with little left: base/segment.h. */
#ifndef FD_THREAD_STACK_H
#define FD_THREAD_STACK_H

#include "capture/process/thread.h"

/* A C stack, and the address below which little of it is left. */
typedef struct fd_stack_place {
    fd_segment *segment;
    const char *low;
    fd_stack_limits limits; /* CPython's own */
} fd_stack_place;

/* Select the next segment, as thread->segment, for the next call of a thread
 * with little stack left. Returns the previous place, the argument of
 * fd_thread_previous_segment after the call. Without a further segment nothing
 * changes. Requires the GIL. */
fd_stack_place fd_thread_next_segment(fd_thread *thread, PyThreadState *state);
void fd_thread_previous_segment(fd_thread *thread, PyThreadState *state,
                                const fd_stack_place *before);

#endif
