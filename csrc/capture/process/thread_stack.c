#include "capture/process/thread_stack.h"

#include "capture/process/guard.h"

bool
fd_thread_has_greenlets(fd_thread *thread)
{
    fd_guard guard = fd_guard_enter(thread);
    bool has =
        PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") != NULL;
    fd_guard_leave(&guard);
    return has;
}

/* Return CPython's limits for a thread that runs on the segment. */
static fd_stack_limits
limits_of(const fd_segment *segment)
{
    return fd_stack_limits_of(segment->bottom, segment->base + segment->bytes);
}

fd_stack_position
fd_thread_next_segment(fd_thread *thread, PyThreadState *state)
{
    fd_stack_position before = {thread->segment, thread->stack.low, {0, 0, 0}};
    fd_segment **next =
        before.segment == NULL ? &thread->segments : &before.segment->next;
    if (fd_thread_has_greenlets(thread)) {
        return before;
    }
    if (*next == NULL) {
        *next = fd_segment_make(thread->stack.bytes);
    }
    if (*next != NULL) {
        thread->segment = *next;
        thread->stack.low = (*next)->low;
        before.limits = fd_stack_limits_swap(state, limits_of(*next));
    }
    return before;
}

/* One unused segment is kept for reuse. */
void
fd_thread_previous_segment(fd_thread *thread, PyThreadState *state,
                           const fd_stack_position *before)
{
    fd_stack_limits_swap(state, before->limits);
    fd_segment_free(thread->segment->next);
    thread->segment->next = NULL;
    thread->segment = before->segment;
    thread->stack.low = before->low;
}
