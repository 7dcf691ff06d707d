/* Comparison of the traces of many ranks: whether all ranks of each process
 * group have its collectives in the same order and of the same size, and
 * whether each message has a sender and a receiver. A mismatch is a hang. */
#ifndef FD_ET_RANKS_H
#define FD_ET_RANKS_H

#include "et/et_graph.h"

/* One communication of a rank. */
typedef struct fd_et_call {
    uint64_t id;    /* id of the node */
    uint32_t group; /* texts of fd_et_ranks */
    uint32_t name;
    int64_t bytes; /* -1: unknown */
    uint8_t type;  /* FD_ET_COLL, FD_ET_SEND, FD_ET_RECV */
    int32_t coll;  /* Chakra's number; -1: unknown */
    int32_t peer;  /* peer of a message; -1: unknown */
} fd_et_call;

typedef struct fd_et_rank {
    int64_t rank;
    FD_VECTOR(fd_et_call) calls; /* in the order of the program */
    /* texts: groups of which the rank is a member */
    FD_VECTOR(uint32_t) groups;
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
    uint64_t number; /* index in the group or pair, from 1 */
    uint32_t one;    /* indices of the ranks */
    uint32_t other;
    uint32_t one_call; /* index of the call + 1; 0: no call */
    uint32_t other_call;
} fd_et_mismatch;

enum { FD_ET_MISMATCHES = 1000 };

typedef struct fd_et_ranks {
    FD_VECTOR(fd_et_rank) ranks;
    /* the first mismatch of each group and pair */
    FD_VECTOR(fd_et_mismatch) mismatches;
    fd_text_pool texts;
    uint64_t collectives; /* collectives that match on all ranks */
    uint64_t messages;    /* messages with both ends */
    uint64_t unknown;     /* messages with an unknown peer */
} fd_et_ranks;

/* Free the comparison. Zero-initialised memory has no ranks. */
void fd_et_ranks_clear(fd_et_ranks *ranks);

/* Add the communication of a trace as a rank. */
fd_status fd_et_ranks_add(fd_et_ranks *ranks, const fd_et *et);

fd_status fd_et_ranks_compare(fd_et_ranks *ranks);

#endif
