/* Clock corrections from collectives: no member ends one before the last
 * member has begun it. */
#ifndef FD_CLOCK_COLLECTIVES_H
#define FD_CLOCK_COLLECTIVES_H

#include "clocks/clock_fit.h"

/* Kinds with fewer collectives are ignored. */
enum { FD_CLOCK_LEAST_COLLECTIVES = 5 };

/* The part of a member in a collective. All parts of a collective have the
 * same kind (group, name and sizes) and order. */
typedef struct fd_clock_part {
    uint64_t kind;
    uint64_t order;
    uint64_t total; /* number of collectives of this kind on this member; 0:
                     * `order` is exact */
    uint32_t member;
    int64_t begin; /* on the clock of the member */
    int64_t end;
    bool joined; /* result: matched with parts of other members */
} fd_clock_part;

typedef struct fd_clock_member {
    bool found;
    fd_clock_fit fit;    /* to the clock of the reference */
    uint64_t used;       /* number of collectives */
    uint64_t violations; /* collectives that ended before the last member
                          * began */
} fd_clock_member;

/* Fit the clocks of all members that collectives connect with the reference,
 * directly or through other members. The parts are sorted. `members` has
 * `count` entries; members of parts are below `count`.
 *
 * The correction is the mean of three estimates, weighted by the inverse of
 * their variances: the median difference between ends, which is best for
 * evenly distributed delays, and the minimum and maximum delays from the last
 * begin to the end, which are best for delays with sharp bounds. The
 * uncertainty is twice the standard error plus the minimum delay. */
fd_status fd_clock_fit_collectives(fd_clock_part *parts, size_t part_count,
                                   uint32_t reference,
                                   fd_clock_member *members, uint32_t count);

#endif
