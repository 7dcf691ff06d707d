#include "capture/native_thread.h"

#include "store/stack.h"

/* This thread's first event of a generation is an operator: without the GIL
 * its Python frames cannot be walked, so they are found at its first call. */
static void
synchronise(fd_thread *thread, fd_session *session)
{
    if (fd_thread_attach(thread, session, NULL)) {
        fd_tree_start(thread->tree);
    }
    thread->frame = NULL;
    thread->unhooked = NULL;
    thread->state = NULL;
    thread->synced = fd_process_generation();
}

/* Reads this thread's own frames, which nobody else changes. */
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

fd_thread *
fd_native_prepare(void)
{
    fd_session *session = fd_process_active();
    if (session == NULL || !session->running) {
        return NULL;
    }
    fd_thread *thread = fd_thread_get();
    if (thread == NULL || thread->busy) {
        return NULL;
    }
    if (thread->synced != fd_process_generation()) {
        synchronise(thread, session);
    }
    if (thread->tree == NULL || thread->serial != session->serial) {
        return NULL;
    }
    fd_stack_settle(thread->tree);
    thread->generation = thread->tree->pending == 0 ? thread->synced : 0;
    return thread;
}
