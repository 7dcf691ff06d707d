/* Compare the traces of many ranks: whether the collectives of each process
 * group are in the same order and of the same size on all of its ranks, and
 * whether each message has a sender and a receiver. A mismatch is a hang. */
#ifndef FD_ET_RANKS_H
#define FD_ET_RANKS_H

#include "et/et_graph.h"

/* The communication of one rank: a trace without its nodes. */
typedef struct fd_et_call {
    uint64_t id;    /* of the node */
    uint32_t group; /* texts of fd_et_ranks */
    uint32_t name;
    int64_t bytes; /* -1: not known */
    uint8_t type;  /* FD_ET_COLL, FD_ET_SEND, FD_ET_RECV */
    int32_t coll;  /* Chakra's number; -1: not known */
    int32_t peer;  /* of a message; -1: not known */
    int32_t tag;
    uint32_t place; /* of the node in its trace */
    uint32_t match; /* the same number on all ranks; 0: of none */
} fd_et_call;

typedef struct fd_et_rank {
    int64_t rank;
    FD_VECTOR(fd_et_call) calls; /* in the order of the program */
    FD_VECTOR(uint32_t) groups;  /* texts: groups that it is part of */
} fd_et_rank;

typedef enum fd_et_mismatch_kind {
    FD_ET_OTHER_KIND, /* a rank calls another collective */
    FD_ET_OTHER_SIZE,
    FD_ET_MISSING,    /* a rank ends before the collective */
    FD_ET_NO_RECEIVE, /* a message without a receive ... */
    FD_ET_NO_SEND,    /* ... or without a send */
    FD_ET_MESSAGE_SIZE
} fd_et_mismatch_kind;

typedef struct fd_et_mismatch {
    fd_et_mismatch_kind kind;
    uint32_t group;  /* text */
    uint64_t number; /* index in the group, or the pair, from 1 */
    uint32_t one;    /* ranks: places */
    uint32_t other;
    uint32_t one_call; /* + 1; 0: none */
    uint32_t other_call;
} fd_et_mismatch;

enum { FD_ET_MISMATCHES = 1000 };

typedef struct fd_et_ranks {
    FD_VECTOR(fd_et_rank) ranks;
    FD_VECTOR(fd_et_mismatch)
    mismatches; /* the first of each group and pair */
    fd_text_pool texts;
    uint64_t collectives; /* that match on all ranks */
    uint64_t messages;    /* with both ends */
    uint32_t matches;     /* both together: an upper bound of the numbers */
    uint64_t unknown;     /* messages with an unknown peer */
} fd_et_ranks;

/* Zero-initialised memory holds no ranks. */
void fd_et_ranks_clear(fd_et_ranks *ranks);

/* Add the communication of a trace as a rank. */
fd_status fd_et_ranks_add(fd_et_ranks *ranks, const fd_et *et);

fd_status fd_et_ranks_compare(fd_et_ranks *ranks);

#endif
