/* The latest collectives of each process group that a thread called: records
 * of kind FD_MEASURE_LATEST, where a new one replaces the oldest. A collective
 * called by a function of torch.distributed that waits for it ends when that
 * function returns:
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
    uint64_t number; /* number of the call in its group, from 1 */
    uint64_t bytes;
    bool async; /* whether the caller does not wait for the result */
} fd_latest_call;

/* Record that the running operator of the tree begins a collective. */
void fd_latest_begin(fd_tree *tree, const fd_latest_call *call);

/* End the open collective if the function of torch.distributed that called it
 * has returned. */
void fd_latest_returned(fd_tree *tree);

#endif
