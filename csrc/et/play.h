/* Traces of all ranks played: when each node would begin and end. */
#ifndef FD_ET_PLAY_H
#define FD_ET_PLAY_H

#include "et/estimate.h"

/* A node of a rank; place 0: none. */
typedef struct fd_play_place {
    uint32_t rank;
    uint32_t place; /* + 1 */
} fd_play_place;

typedef struct fd_play_node {
    int64_t start; /* played, ns */
    int64_t end;
    int64_t busy;  /* of its thread, from its begin until the next may begin */
    int64_t measured_busy;
    int64_t delay; /* measured: from when it could have begun */
    int64_t launch; /* of a kernel: from the begin of the launching call */
    fd_play_place why; /* what it waited for last */
    uint32_t match;
    bool chain_waits; /* the thread before it only waited */
} fd_play_node;

typedef struct fd_play_rank {
    const fd_et *et;
    fd_play_node *nodes; /* owned */
    double *factors;     /* owned; of each node's own time */
    int64_t shift;       /* added to its times: clocks of hosts differ */
    uint32_t at;         /* the next to play ... */
    uint32_t edge;       /* ... and its first edge */
    bool waits;          /* for the others of a meeting */
} fd_play_rank;

/* A collective or a message on its ranks. */
typedef struct fd_play_meeting {
    uint32_t wanted; /* ranks */
    uint32_t there;
    int64_t measured; /* when the last came */
    int64_t played;
    fd_play_place last;
} fd_play_meeting;

typedef struct fd_play {
    fd_play_rank *ranks; /* owned */
    uint32_t count;
    fd_play_meeting *meetings; /* owned; by match */
    uint32_t matches;
    int64_t measured_begin;
    int64_t measured_end;
    int64_t end; /* played */
    fd_play_place last;
    uint64_t broken; /* meetings that not all came to */
} fd_play;

/* Clear it in any case. */
fd_status fd_play_make(fd_play *play, const fd_et *traces, uint32_t count,
                       const fd_et_ranks *ranks);
void fd_play_run(fd_play *play, const fd_et_changes *changes);
void fd_play_clear(fd_play *play);

#endif
