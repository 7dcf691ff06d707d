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

/* Measure the stack of the calling thread and set thread->stack_low: at
 * addresses below it, fd_thread_stack_has_space decides. */
void fd_thread_stack_measure(fd_thread *thread);

/* Return whether the next call may use the current stack; sets stack_low. The
 * limit of the main thread is read again at each use of a further quarter of a
 * megabyte. */
bool fd_thread_stack_has_space(fd_thread *thread);

/* Select the next segment, as thread->segment, for the next call of a thread
 * whose stack is nearly used up. Return the previous stack, to be passed to
 * fd_thread_previous_segment after the call. If there is no further segment,
 * nothing changes. While greenlet is imported there is none: it copies parts of
 * the C stack, which it assumes to be contiguous. Requires the GIL. */
fd_stack_position fd_thread_next_segment(fd_thread *thread,
                                         PyThreadState *state);
void fd_thread_previous_segment(fd_thread *thread, PyThreadState *state,
                                const fd_stack_position *before);

#endif
