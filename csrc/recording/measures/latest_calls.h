/* The latest collectives of each process group that a thread called: records
 * of kind FD_MEASURE_LATEST, of which the oldest is replaced. A call of a
 * function of torch.distributed that waits ends when that function returns:
 *
 *     all_reduce             ├─────────────────────────────┤
 *     c10d::allreduce_           ├────────┤
 *     collective               begin ─────────────────────► end
 */
#ifndef FD_LATEST_CALLS_H
#define FD_LATEST_CALLS_H

#include "recording/measures/measure_table.h"

typedef struct fd_latest_call {
    uint32_t group;
    uint32_t detail;
    uint64_t number; /* in the group, from 1 */
    uint64_t bytes;
    bool async; /* the caller does not wait */
} fd_latest_call;

/* The running operator of the tree begins a call. */
void fd_latest_begin(fd_tree *tree, const fd_latest_call *call);

/* A function of torch.distributed has returned, by the clock of the tree. */
void fd_latest_returned(fd_tree *tree);

#endif
