/* Prepare a thread for an event without the GIL: an operator on a thread of
 * PyTorch, or on a Python thread that has released the GIL. */
#ifndef FD_NATIVE_THREAD_H
#define FD_NATIVE_THREAD_H

#include "capture/state/session_state.h"

/* Handle the conditions that exclude the shortest path, inside the section of
 * the thread. NULL, after leaving the section: do not record the event. */
fd_thread *fd_native_prepare(fd_thread *thread);

/* Frames whose end no hook reported must not become callers. */
void fd_native_drop_ended_frames(fd_thread *thread);

/* The calling thread, prepared for an event inside its section (see
 * base/sections.h), which fd_native_leave leaves. NULL: do not record the
 * event. */
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

/* The same for the end of an event; NULL if the begin was not recorded. */
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
