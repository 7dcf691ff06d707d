/* Additional C stack for threads that have nearly used up their own:
 * base/segment.h. */
#ifndef FD_THREAD_STACK_H
#define FD_THREAD_STACK_H

#include "capture/process/thread.h"

/* A C stack, and the address below which it is nearly used up. */
typedef struct fd_stack_position {
    fd_segment *segment;
    const char *low;
    fd_stack_limits limits; /* CPython's own limits */
} fd_stack_position;

/* Return whether greenlet is imported. Requires the GIL. */
bool fd_thread_has_greenlets(fd_thread *thread);

/* Select the next segment, as thread->segment, for the next call of a thread
 * whose stack is nearly used up. Return the previous stack, to be passed to
 * fd_thread_previous_segment after the call. If there is no further segment,
 * nothing changes. This is so while greenlet is imported, which copies parts of
 * the C stack and assumes that it is contiguous. Requires the GIL. */
fd_stack_position fd_thread_next_segment(fd_thread *thread,
                                         PyThreadState *state);
void fd_thread_previous_segment(fd_thread *thread, PyThreadState *state,
                                const fd_stack_position *before);

#endif
