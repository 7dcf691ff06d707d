/* When each rank computed, communicated and copied, per thread or stream, as
 * intervals. Their total number is bounded. */
#ifndef FD_BUSY_INTERVALS_H
#define FD_BUSY_INTERVALS_H

#include "base/map.h"
#include "events/stats/time_intervals.h"

enum { FD_LANES_INTERVALS = 1 << 22 };

typedef enum fd_work {
    FD_WORK_NONE,
    FD_WORK_COMPUTE,
    FD_WORK_COMMUNICATION,
    FD_WORK_COPY
} fd_work;

typedef struct fd_lane {
    uint32_t rank; /* index in the caller's list of ranks */
    fd_intervals compute;
    fd_intervals communication;
    fd_intervals copies;
} fd_lane;

typedef struct fd_lanes {
    FD_VECTOR(fd_lane) list;
    fd_map of_thread;
    uint32_t most; /* intervals; 0: FD_LANES_INTERVALS */
    uint64_t held; /* intervals of all lanes, a lower bound */
    int64_t gap;   /* gaps up to this are closed, ns */
    uint64_t closed_ns;
} fd_lanes;

/* The work of a rank between two times. */
typedef struct fd_rank_work {
    fd_intervals compute;
    fd_intervals communication;
    fd_intervals both;
    fd_intervals busy; /* computing, communication and copies */
    fd_intervals copies;
} fd_rank_work;

typedef struct fd_work_sums {
    int64_t busy;
    int64_t compute;
    int64_t communication;
    int64_t exposed; /* communication while nothing computes */
    int64_t copies;
} fd_work_sums;

/* Remove all lanes before another file is read; keep `gap` and `closed_ns`. */
void fd_lanes_clear(fd_lanes *lanes);

fd_status fd_lanes_add(fd_lanes *lanes, uint32_t rank, uint32_t thread,
                       fd_work work, int64_t from, int64_t to);

/* Combine all threads of a rank. A thread does not compute while it
 * communicates: a slice around a communication call is not counted as
 * computing during the call. */
fd_status fd_lanes_of_rank(fd_lanes *lanes, uint32_t rank, fd_rank_work *work);

void fd_rank_work_clear(fd_rank_work *work);
fd_work_sums fd_rank_work_within(const fd_rank_work *work, int64_t from,
                                 int64_t to);

/* Computing, communication and copies of the GPUs of a rank: the sum of each,
 * and the time of each overlap. */

enum { FD_KERNEL_KINDS = 3, FD_KERNEL_SETS = 1 << FD_KERNEL_KINDS };

typedef struct fd_kernel_kinds {
    uint32_t rank;
    bool any;
    int64_t first;
    int64_t last;
    uint64_t count[FD_KERNEL_KINDS]; /* by fd_work - 1 */
    uint64_t total[FD_KERNEL_KINDS]; /* ns, sum of durations */
    int64_t time[FD_KERNEL_SETS]; /* ns in which exactly this set of kinds ran:
                                   * bit n of the index is kind n */
} fd_kernel_kinds;

const char *fd_kernel_kind_name(uint32_t kind);

void fd_kernel_kinds_add(fd_kernel_kinds *kinds, fd_work work, int64_t from,
                         int64_t to);

/* Measure the overlaps, once after all work of the rank was added. */
fd_status fd_kernel_kinds_measure(fd_kernel_kinds *kinds,
                                  const fd_rank_work *work);

#endif
