/* More C stack for a thread whose own is short: base/segment.h. */
#ifndef FD_THREAD_STACK_H
#define FD_THREAD_STACK_H

#include "capture/process/thread.h"

/* A C stack, and the address below which it counts as short. */
typedef struct fd_stack_place {
    fd_segment *segment;
    const char *low;
    fd_stack_limits limits; /* CPython's own */
} fd_stack_place;

/* The thread's stack is short: what it calls next is to run on the next
 * segment, which becomes thread->segment. Returns the place before, to be
 * given to fd_thread_surface when the call has returned. There may be no
 * further segment: then nothing changes. Needs the GIL. */
fd_stack_place fd_thread_deepen(fd_thread *thread, PyThreadState *state);
void fd_thread_surface(fd_thread *thread, PyThreadState *state,
                       const fd_stack_place *before);

#endif
