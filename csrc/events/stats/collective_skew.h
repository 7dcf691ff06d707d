/* Differences in time between the ranks in each collective. Collectives with
 * the same key (name, size, process group) are matched by their order on each
 * rank. */
#ifndef FD_COLLECTIVE_SKEW_H
#define FD_COLLECTIVE_SKEW_H

#include "base/map.h"
#include "events/stats/duration_digest.h"

enum { FD_SKEW_MOST = 1 << 20 };

typedef struct fd_collective {
    uint64_t key;
    int64_t start;
    int64_t end;
    uint32_t rank;
    uint32_t name; /* index of a text of the caller */
    uint32_t group;
} fd_collective;

/* All collectives of one name and group. */
typedef struct fd_skew_row {
    uint32_t name;
    uint32_t group;
    uint32_t ranks; /* maximum number of ranks in one collective */
    uint64_t matched;
    uint64_t unmatched; /* collectives that have no match on some rank */
    fd_digest begin;    /* last start - first start, ns */
    fd_digest end;
    uint64_t worst; /* the largest difference of begins, and the last rank in
                     * it */
    uint32_t worst_rank;
} fd_skew_row;

/* How often a rank was the last to begin. */
typedef struct fd_skew_rank {
    uint32_t rank;
    uint64_t last;
} fd_skew_rank;

typedef struct fd_skew {
    FD_VECTOR(fd_collective) list;
    uint64_t left_out; /* collectives beyond FD_SKEW_MOST */
    FD_VECTOR(fd_skew_row) rows;
    fd_map row_of; /* name and group -> index + 1 */
    FD_VECTOR(fd_skew_rank) ranks;
} fd_skew;

void fd_skew_clear(fd_skew *skew);
fd_status fd_skew_add(fd_skew *skew, const fd_collective *collective);

/* Fill `rows` and `ranks`, once after the last collective. */
fd_status fd_skew_match(fd_skew *skew);

#endif
