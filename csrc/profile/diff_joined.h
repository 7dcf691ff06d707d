/* Two recordings as one trace of two ranks, for pictures of changes; and two
 * more ranks for each requested pair of ranks.
 *
 *     before ─┐  paths of calls by the keys of their     ┌─ rank 0: before
 *             ├─ functions, no line, and by the names ───┤
 *     after  ─┘  of their modules                        └─ rank 1: after
 *
 * A rank has the figures of its entire side; the slowest step of each path is
 * replaced by the mean of its other steps, as in totals.h. */
#ifndef FD_DIFF_JOINED_H
#define FD_DIFF_JOINED_H

#include "trace/trace.h"

typedef struct fd_diff_side {
    const fd_trace *trace; /* borrowed */
    int rank;              /* index of a rank, or FD_ALL_RANKS */
} fd_diff_side;

/* Make the trace, which is sorted and owned by the caller. `count` is even;
 * sides at even indexes are of the trace before, the others of the trace
 * after. */
fd_status fd_diff_joined(fd_trace **joined, const fd_diff_side *sides,
                         uint32_t count);

#endif
