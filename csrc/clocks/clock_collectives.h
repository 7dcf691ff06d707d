/* Clocks from collectives: operations that no member ends before the last one
 * has begun. */
#ifndef FD_CLOCK_COLLECTIVES_H
#define FD_CLOCK_COLLECTIVES_H

#include "clocks/clock_fit.h"

/* Fewer of one kind are ignored. */
enum { FD_CLOCK_LEAST_COLLECTIVES = 5 };

/* A member's part in a collective. Parts of one have the same kind (group,
 * name and sizes) and order. */
typedef struct fd_clock_part {
    uint64_t kind;
    uint64_t order;
    uint64_t total; /* of this kind on this member; 0: `order` is certain */
    uint32_t member;
    int64_t begin; /* by the member's clock */
    int64_t end;
    bool joined; /* result: it was found to be common with others */
} fd_clock_part;

typedef struct fd_clock_member {
    bool found;
    fd_clock_fit fit;    /* to the reference's clock */
    uint64_t used;       /* collectives */
    uint64_t violations; /* of those: ended before the last one began */
} fd_clock_member;

/* Fit the clocks of all members that collectives join with the reference, by
 * way of others where needed. Sorts the parts. `members` has room for `count`,
 * and parts have members below that.
 *
 * Three estimates are made of each, and weighed by their errors: the median of
 * the differences between ends, which is best where delays scatter evenly; and
 * the least and the greatest delays from the last begin to the end, levelled,
 * which are best where delays have sharp bounds. The uncertainty is twice the
 * standard error and the least delay. */
fd_status fd_clock_fit_collectives(fd_clock_part *parts, size_t part_count,
                                   uint32_t reference,
                                   fd_clock_member *members, uint32_t count);

#endif
