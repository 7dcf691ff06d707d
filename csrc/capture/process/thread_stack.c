#include "capture/process/thread_stack.h"

#include "capture/process/guard.h"

#include <sys/resource.h>
#include <unistd.h>

/* The distance after which the limit of the main thread is read again. */
#define CHECKED ((size_t)256 << 10)

/* Return whether the stack of the calling thread grows on demand, up to a
 * limit that the program can lower at any time. */
static bool
stack_grows(void)
{
    return getpid() == gettid();
}

void
fd_thread_stack_measure(fd_thread *thread)
{
    pthread_attr_t attributes;
    void *base = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    pthread_attr_getstack(&attributes, &base, &thread->stack_bytes);
    pthread_attr_destroy(&attributes);
    thread->stack_top = (const char *)base + thread->stack_bytes;
    thread->stack_low = thread->stack_top - thread->stack_bytes / 2;
    if (stack_grows()) {
        thread->stack_low = thread->stack_top;
    }
}

/* Half of the stack is left to C code of the program. */
bool
fd_thread_stack_has_space(fd_thread *thread)
{
    const char *here = __builtin_frame_address(0);
    struct rlimit limit;
    if (thread->segment != NULL || !stack_grows()
        || getrlimit(RLIMIT_STACK, &limit) != 0) {
        return false;
    }
    size_t bytes = limit.rlim_cur < thread->stack_bytes ? limit.rlim_cur
                                                        : thread->stack_bytes;
    const char *low = thread->stack_top - bytes / 2;
    if (here < low) {
        thread->stack_low = low;
        return false;
    }
    bool near = (size_t)(here - low) < CHECKED;
    thread->stack_low = near ? low : here - CHECKED;
    return true;
}

/* Return whether greenlet is imported. */
static bool
has_greenlets(fd_thread *thread)
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
    fd_stack_position before = {thread->segment, thread->stack_low, {0, 0, 0}};
    fd_segment **next =
        before.segment == NULL ? &thread->segments : &before.segment->next;
    if (has_greenlets(thread)) {
        return before;
    }
    if (*next == NULL) {
        *next = fd_segment_make(thread->stack_bytes);
    }
    if (*next != NULL) {
        thread->segment = *next;
        thread->stack_low = (*next)->low;
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
    thread->stack_low = before->low;
}
