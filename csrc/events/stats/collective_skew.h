/* How far apart the ranks are in each collective. Those of one key (name, size,
 * process group) are matched by their order on each rank. */
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
    uint32_t name; /* texts of the caller */
    uint32_t group;
} fd_collective;

/* All collectives of one name and group. */
typedef struct fd_skew_row {
    uint32_t name;
    uint32_t group;
    uint32_t ranks; /* the most that took part in one */
    uint64_t matched;
    uint64_t unmatched; /* slices of keys that some rank has more often */
    fd_digest begin;    /* last begin - first begin, ns */
    fd_digest end;
    uint64_t worst; /* the greatest spread of begins, and who was last */
    uint32_t worst_rank;
} fd_skew_row;

/* How often a rank was the last to begin. */
typedef struct fd_skew_rank {
    uint32_t rank;
    uint64_t last;
} fd_skew_rank;

typedef struct fd_skew {
    FD_VECTOR(fd_collective) list;
    uint64_t left_out; /* beyond FD_SKEW_MOST */
    FD_VECTOR(fd_skew_row) rows;
    fd_map row_of; /* name and group -> place + 1 */
    FD_VECTOR(fd_skew_rank) ranks;
} fd_skew;

void fd_skew_clear(fd_skew *skew);
fd_status fd_skew_add(fd_skew *skew, const fd_collective *collective);

/* Once, after the last: fills `rows` and `ranks`. */
fd_status fd_skew_match(fd_skew *skew);

#endif
