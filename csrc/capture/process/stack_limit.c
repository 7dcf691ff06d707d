#include "capture/process/stack_limit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* The distance after which the limit of the main thread is read again. */
#define CHECKED_BYTES ((size_t)256 << 10)

/* Return whether the stack of the calling thread grows on demand. */
static bool
stack_grows(void)
{
    return getpid() == gettid();
}

void
fd_stack_measure(fd_stack_limit *stack)
{
    pthread_attr_t attributes;
    void *base = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    pthread_attr_getstack(&attributes, &base, &stack->bytes);
    pthread_attr_destroy(&attributes);
    stack->top = (const char *)base + stack->bytes;
    stack->low = stack_grows() ? stack->top : stack->top - stack->bytes / 2;
}

bool
fd_stack_has_space(fd_stack_limit *stack)
{
    const char *here = __builtin_frame_address(0);
    struct rlimit limit;
    if (!stack_grows() || getrlimit(RLIMIT_STACK, &limit) != 0) {
        return false;
    }
    size_t bytes =
        limit.rlim_cur < stack->bytes ? limit.rlim_cur : stack->bytes;
    const char *low = stack->top - bytes / 2;
    if (here < low) {
        stack->low = low;
        return false;
    }
    stack->low =
        (size_t)(here - low) < CHECKED_BYTES ? low : here - CHECKED_BYTES;
    return true;
}
