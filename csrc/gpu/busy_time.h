/* When GPUs were busy, from their kernels in any order: the time in which at
 * least one ran, and for each kernel the idle time of its GPU before it, as
 * far as it had not been launched.
 *
 *     kernels   [ a ]        [ b ]   [ c ]
 *     launches  a  c?        │
 *                  b ────────┘       starved of b: end of a to launch of b
 */
#ifndef FD_BUSY_TIME_H
#define FD_BUSY_TIME_H

#include "base/status.h"
#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_busy_kernel {
    uint64_t start; /* all on one clock */
    uint64_t end;
    uint64_t launched; /* 0: unknown */
    uint32_t device;
    uint32_t id; /* of the caller */
} fd_busy_kernel;

typedef struct fd_busy_time {
    FD_VECTOR(fd_busy_kernel) waiting; /* not yet in order */
    uint64_t until; /* end of the latest kernel of `device`; 0: none */
    uint32_t device;
    uint64_t busy; /* sum over devices */
} fd_busy_time;

void fd_busy_time_clear(fd_busy_time *time);

/* Add a kernel. Return whether there are so many that the caller should settle
 * them. Without memory the kernel is omitted. */
bool fd_busy_time_add(fd_busy_time *time, const fd_busy_kernel *kernel);

/* Begin a window: the time until its first kernel is not idle time. The caller
 * has settled the kernels of the window before. */
static inline void
fd_busy_time_begin(fd_busy_time *time)
{
    time->until = 0;
}

/* Put the kernels in order, and call `starved` for each with idle time before
 * it. A later kernel that started before the last of them is ignored as far as
 * it overlaps. */
void fd_busy_time_settle(fd_busy_time *time,
                         void (*starved)(void *user, uint32_t id,
                                         uint64_t idle),
                         void *user);

#endif
