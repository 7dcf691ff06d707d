/* A thread getting ready for an event that comes without the GIL: an operator
 * on a thread of PyTorch's own, or on a Python thread that has let go. */
#ifndef FD_NATIVE_THREAD_H
#define FD_NATIVE_THREAD_H

#include "capture/session.h"

/* Look after whatever keeps the event off the shortest path. NULL: leave the
 * event out. */
fd_thread *fd_native_prepare(void);

/* Python frames that ended unseen must not become callers. */
void fd_native_drop_ended_frames(fd_thread *thread);

/* The calling thread, ready for an event; NULL: leave the event out. */
static inline fd_thread *
fd_native_ready(void)
{
    fd_thread *thread = fd_thread_self;
    if (__builtin_expect(thread == NULL
                             || thread->generation != fd_process_generation(),
                         false)) {
        thread = fd_native_prepare();
    }
    if (thread != NULL && thread->frame == thread->unhooked) {
        fd_native_drop_ended_frames(thread);
    }
    return thread;
}

#endif
