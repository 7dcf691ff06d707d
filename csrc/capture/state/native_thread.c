#include "capture/state/native_thread.h"

#include "recording/open_entries.h"

#include <errno.h>

/* Prepare a thread whose first event of a generation is an operator. Without
 * the GIL its Python frames cannot be read, so they are matched at its first
 * Python call. */
static void
synchronise_thread(fd_thread *thread, fd_session *session, uint32_t generation)
{
    if (fd_thread_attach(thread, session, NULL)) {
        fd_tree_start(thread->tree);
    }
    thread->frame = NULL;
    thread->beyond = 0;
    thread->unhooked = NULL;
    thread->state = NULL;
    thread->synced = generation;
}

/* Only reads frames of this thread, which no other thread changes. */
void
fd_native_drop_ended_frames(fd_thread *thread)
{
    if (thread->state == NULL || thread->frame != thread->unhooked) {
        return;
    }
    fd_tree *tree = thread->tree;
    fd_frame *frame = fd_frame_python(fd_frame_current(thread->state));
    if (frame == NULL || frame == thread->frame) {
        return;
    }
    int64_t at = fd_stack_find(tree, frame, FD_ENTRY_FRAME);
    if (at >= 0) {
        fd_tree_close(tree, (uint32_t)at + 1);
        thread->frame = frame;
        thread->unhooked = frame;
    }
}

static bool
prepare_thread(fd_thread *thread, fd_session *session, uint32_t generation)
{
    if (thread->synced != generation) {
        synchronise_thread(thread, session, generation);
    }
    if (thread->tree == NULL || thread->serial != session->serial) {
        return false;
    }
    fd_stack_settle(thread->tree);
    thread->generation = thread->tree->pending == 0 ? thread->synced : 0;
    return true;
}

fd_thread *
fd_native_prepare(fd_thread *thread)
{
    /* Read this first: if it changes later, the values below may belong to the
     * next generation, and the thread synchronizes again at its next event. */
    uint32_t generation = fd_process_generation();
    fd_session *session = fd_process_active();
    int error = errno;
    bool ready = session != NULL && session->running && !thread->busy
              && prepare_thread(thread, session, generation);
    errno = error;
    if (!ready) {
        fd_section_leave(&thread->section);
        return NULL;
    }
    return thread;
}
