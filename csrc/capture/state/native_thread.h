/* Preparation of a thread for an event without the GIL: an operator on a
 * thread of PyTorch, or on a Python thread that has released the GIL. */
#ifndef FD_NATIVE_THREAD_H
#define FD_NATIVE_THREAD_H

#include "capture/state/session_state.h"

/* Handle the conditions that exclude the shortest path, inside the section of
 * the thread. Return NULL, after leaving the section, if the event must not be
 * recorded. */
fd_thread *fd_native_prepare(fd_thread *thread);

/* Drop frames whose end no hook reported, which must not become callers. */
void fd_native_drop_ended_frames(fd_thread *thread);

/* Enter the section of the calling thread (base/sections.h), prepare the
 * thread for an event, and return it. fd_native_leave leaves the section.
 * NULL: do not record the event. */
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

/* Enter the section for the end of an event. NULL: the start was not
 * recorded. */
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
