/* A set of times as intervals that do not touch, in any order of arrival. The
 * owner bounds their number by closing the shortest gaps, which is counted.
 *
 *     list  [ apart and in order | not yet sorted in ]
 *           0                    `sorted`             count */
#ifndef FD_TIME_INTERVALS_H
#define FD_TIME_INTERVALS_H

#include "base/vector.h"

#include <stdbool.h>

typedef struct fd_interval {
    int64_t from;
    int64_t to;
} fd_interval;

typedef struct fd_intervals {
    FD_VECTOR(fd_interval) list;
    uint32_t sorted;
    int64_t gap;        /* gaps up to this are closed */
    uint64_t closed_ns; /* in all */
} fd_intervals;

void fd_intervals_clear(fd_intervals *set);

/* Nothing happens when the interval is empty. */
fd_status fd_intervals_add(fd_intervals *set, int64_t from, int64_t to);

/* Sort in what came. The set may be read afterwards, until the next add. */
void fd_intervals_settle(fd_intervals *set);

/* Settle, and close gaps up to `gap` from now on. */
void fd_intervals_close(fd_intervals *set, int64_t gap);

/* Settled sets: everything of `from` into `to`. */
fd_status fd_intervals_join(fd_intervals *to, const fd_intervals *from);

/* The times in `set` and not in `other`, both settled, into the empty `to`. */
fd_status fd_intervals_without(const fd_intervals *set,
                               const fd_intervals *other, fd_intervals *to);

/* How much of a settled set lies between two times. */
int64_t fd_intervals_within(const fd_intervals *set, int64_t from, int64_t to);

#endif
