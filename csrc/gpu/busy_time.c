#include "gpu/busy_time.h"

enum { MOST_WAITING = 16384 };

void
fd_busy_time_clear(fd_busy_time *time)
{
    fd_vector_clear(&time->waiting);
}

bool
fd_busy_time_add(fd_busy_time *time, const fd_busy_kernel *kernel)
{
    fd_status status = fd_vector_push(&time->waiting, *kernel);
    return status == FD_OK && time->waiting.count >= MOST_WAITING;
}

FD_ORDER_BY(by_start, fd_busy_kernel, device, start)

/* Return the idle time before a kernel, and add its own. */
static uint64_t
pass_kernel(fd_busy_time *time, const fd_busy_kernel *kernel)
{
    bool first = time->until == 0 || time->device != kernel->device;
    uint64_t launched =
        kernel->launched != 0 && kernel->launched < kernel->start
            ? kernel->launched
            : kernel->start;
    uint64_t idle =
        !first && launched > time->until ? launched - time->until : 0;
    uint64_t from =
        first || kernel->start > time->until ? kernel->start : time->until;
    if (kernel->end > from) {
        time->busy += kernel->end - from;
    }
    if (first || kernel->end > time->until) {
        time->until = kernel->end;
    }
    time->device = kernel->device;
    return kernel->launched != 0 ? idle : 0;
}

void
fd_busy_time_settle(fd_busy_time *time,
                    void (*starved)(void *user, uint32_t id, uint64_t idle),
                    void *user)
{
    fd_vector_sort(&time->waiting, by_start);
    for (uint32_t i = 0; i < time->waiting.count; i++) {
        const fd_busy_kernel *kernel = &time->waiting.list[i];
        uint64_t idle = pass_kernel(time, kernel);
        if (idle > 0) {
            starved(user, kernel->id, idle);
        }
    }
    time->waiting.count = 0;
}
