/* A set of times as disjoint intervals, which may be added in any order. The
 * owner bounds their number by closing the shortest gaps; the closed time is
 * counted.
 *
 *     list  [ disjoint and sorted | new, unsorted ]
 *           0                     `sorted`        count */
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
    uint64_t closed_ns; /* total length of closed gaps */
} fd_intervals;

void fd_intervals_clear(fd_intervals *set);

/* Add an interval; an empty one is ignored. */
fd_status fd_intervals_add(fd_intervals *set, int64_t from, int64_t to);

/* Sort and merge the new intervals. The set can then be read until the next
 * fd_intervals_add. */
void fd_intervals_settle(fd_intervals *set);

/* Settle the set, and close gaps up to `gap` from now on. */
void fd_intervals_close(fd_intervals *set, int64_t gap);

/* Add all intervals of `from` to `to`; both must be settled. */
fd_status fd_intervals_join(fd_intervals *to, const fd_intervals *from);

/* Store the times in `set` that are not in `other`, both settled, in `to`,
 * which must be empty. */
fd_status fd_intervals_without(const fd_intervals *set,
                               const fd_intervals *other, fd_intervals *to);

/* Return how much of a settled set lies between two times. */
int64_t fd_intervals_within(const fd_intervals *set, int64_t from, int64_t to);

#endif
