/* Two recordings as one trace of two ranks, for pictures of what changed; and
 * two more ranks for each requested pair of ranks.
 *
 *     before ─┐  paths of calls by the keys of their     ┌─ rank 0: before
 *             ├─ functions, no line, and by the places ──┤
 *     after  ─┘  of their modules                        └─ rank 1: after
 *
 * A rank has the figures of its whole side; the slowest step of each path
 * counts like the mean of its others, as in diff.h. */
#ifndef FD_DIFF_JOINED_H
#define FD_DIFF_JOINED_H

#include "profile/profile_diff.h"

/* The caller owns `joined`, which is sorted. Sides alternate between before
 * and after: `count` is even, sides at even indexes are of one trace, the
 * others of the other. */
fd_status fd_diff_joined(fd_trace **joined, const fd_diff_side *sides,
                         uint32_t count);

#endif
