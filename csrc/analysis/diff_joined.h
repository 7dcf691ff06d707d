/* Two recordings as one trace of two ranks, for pictures of what changed.
 *
 *     before ─┐  paths of calls by the keys of their     ┌─ rank 0: before
 *             ├─ functions, no line, and by the places ──┤
 *     after  ─┘  of their modules                        └─ rank 1: after
 *
 * A rank has the figures of its whole side; the slowest step of each path
 * counts like the mean of its others, as in diff.h. */
#ifndef FD_DIFF_JOINED_H
#define FD_DIFF_JOINED_H

#include "analysis/diff.h"

/* `joined` is sorted, and the caller's. */
fd_status fd_diff_joined(fd_trace **joined, const fd_diff_side sides[2]);

#endif
