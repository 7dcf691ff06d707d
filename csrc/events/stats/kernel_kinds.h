/* Computing, communication and copies of a rank's GPUs: how much of each, and
 * how long which of them ran at the same time. */
#ifndef FD_KERNEL_KINDS_H
#define FD_KERNEL_KINDS_H

#include "events/stats/busy_intervals.h"

enum { FD_KERNEL_KINDS = 3, FD_KERNEL_SETS = 1 << FD_KERNEL_KINDS };

typedef struct fd_kernel_kinds {
    uint32_t rank;
    bool any;
    int64_t first;
    int64_t last;
    uint64_t count[FD_KERNEL_KINDS]; /* by fd_work - 1 */
    uint64_t total[FD_KERNEL_KINDS]; /* ns, sum of durations */
    int64_t time[FD_KERNEL_SETS]; /* ns in which exactly these kinds ran: bit
                                        n of the index is kind n */
} fd_kernel_kinds;

const char *fd_kernel_kind_name(uint32_t kind);

void fd_kernel_kinds_add(fd_kernel_kinds *kinds, fd_work work, int64_t from,
                         int64_t to);

/* After the last, with all work of the rank. */
fd_status fd_kernel_kinds_measure(fd_kernel_kinds *kinds,
                                  const fd_rank_work *work);

#endif
