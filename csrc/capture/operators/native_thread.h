/* Prepare a thread for an event without the GIL: an operator
 * on a thread of PyTorch, or on a Python thread that has released the GIL. */
#ifndef FD_NATIVE_THREAD_H
#define FD_NATIVE_THREAD_H

#include "capture/state/session_state.h"

/* Handle all that keeps the event off the shortest path, inside the
 * thread's section. NULL, outside of it: do not record the event. */
fd_thread *fd_native_prepare(fd_thread *thread);

/* Python frames that ended unseen must not become callers. */
void fd_native_drop_ended_frames(fd_thread *thread);

/* The calling thread, inside its section (see base/sections.h) and ready for
 * an event; fd_native_leave ends it. NULL: do not record the event. */
static inline fd_thread *
fd_native_enter(void)
{
    fd_thread *thread = fd_thread_self;
    if (__builtin_expect(thread == NULL, false)
        && (thread = fd_thread_get()) == NULL) {
        return NULL;
    }
    fd_section_enter(&thread->section);
    if (__builtin_expect(thread->generation != fd_process_generation(),
                         false)) {
        thread = fd_native_prepare(thread);
    }
    if (thread != NULL && thread->frame == thread->unhooked) {
        fd_native_drop_ended_frames(thread);
    }
    return thread;
}

/* The same for the end of an event: the thread if it recorded the beginning. */
static inline fd_thread *
fd_native_reenter(void)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL) {
        return NULL;
    }
    fd_section_enter(&thread->section);
    if (thread->synced != fd_process_generation() || thread->tree == NULL
        || thread->busy) {
        fd_section_leave(&thread->section);
        return NULL;
    }
    return thread;
}

static inline void
fd_native_leave(fd_thread *thread)
{
    fd_section_leave(&thread->section);
}

#endif
