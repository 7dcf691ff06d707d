#include "capture/process/thread_stack.h"

#include "capture/process/guard.h"

/* greenlet copies parts of the C stack, which it assumes to be contiguous. */
static bool
has_greenlets(fd_thread *thread)
{
    fd_guard guard = fd_guard_enter(thread);
    bool has =
        PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") != NULL;
    fd_guard_leave(&guard);
    return has;
}

fd_stack_place
fd_thread_next_segment(fd_thread *thread)
{
    fd_stack_place before = {thread->segment, thread->stack_low};
    fd_segment **next =
        before.segment == NULL ? &thread->segments : &before.segment->next;
    if (*next == NULL && !has_greenlets(thread)) {
        *next = fd_segment_make(thread->stack_bytes);
    }
    if (*next != NULL) {
        thread->segment = *next;
        thread->stack_low = (*next)->low;
    }
    return before;
}

/* Keeps one segment for reuse. */
void
fd_thread_previous_segment(fd_thread *thread, fd_stack_place before)
{
    fd_segment_free(thread->segment->next);
    thread->segment->next = NULL;
    thread->segment = before.segment;
    thread->stack_low = before.low;
}
