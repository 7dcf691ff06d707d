/* Traces of all ranks played: when each node would begin and end.
 *
 *     ready   when the last it waits for is over
 *     delay   what passed then until it began: own time of the call around it
 *     begun   for a collective, when the last rank came that it waits for
 *
 *             ready      start        begun         end
 *     ----------|-- delay --|-- waiting --|-- transfer --|
 *
 * Without changes each node begins and ends when it did. */
#ifndef FD_ET_SIMULATOR_H
#define FD_ET_SIMULATOR_H

#include "et/tools/et_estimate.h"

/* A node of a rank; place 0: none. */
typedef struct fd_play_place {
    uint32_t rank;
    uint32_t place; /* + 1 */
} fd_play_place;

typedef struct fd_play_node {
    int64_t measured; /* its begin; without times: when it could */
    int64_t delay;    /* measured */
    int64_t launch;   /* from the begin of the launching call */
    int64_t ready;    /* played */
    int64_t start;
    int64_t begun;
    int64_t end;        /* of what encloses nothing */
    fd_play_place why;  /* what it waited for last */
    fd_play_place held; /* who came last to its meeting; none: itself */
    uint32_t last;      /* what it encloses last on its thread, + 1 */
    uint32_t synced;    /* the kernel that it waited for, + 1 */
    uint32_t match;     /* meeting */
    bool alone;         /* does not wait for its meeting: a circle */
} fd_play_node;

typedef struct fd_play_rank {
    const fd_et *et;
    fd_play_node *nodes; /* owned */
    double *factors;     /* owned; of each node's own time */
    uint32_t at;         /* the next to play ... */
    uint32_t edge;       /* ... and its first edge */
    bool waits;          /* for the others of a meeting */
} fd_play_rank;

/* A node that takes part in a collective or a message. */
typedef struct fd_play_comer {
    fd_play_place node;
    bool there;
} fd_play_comer;

typedef struct fd_play {
    fd_play_rank *ranks; /* owned */
    uint32_t count;
    fd_play_comer *comers; /* owned; those of a match side by side */
    uint32_t *first;       /* owned; by match, and where the last ends */
    uint32_t matches;
    int64_t measured_begin;
    int64_t measured_end;
    int64_t end; /* played */
    fd_play_place last;
    uint64_t broken; /* nodes that did not wait for their meeting */
} fd_play;

/* Clear it in any case. */
fd_status fd_play_make(fd_play *play, const fd_et *traces, uint32_t count,
                       const fd_et_ranks *ranks);
void fd_play_run(fd_play *play, const fd_et_changes *changes);
void fd_play_clear(fd_play *play);

/* The end of a node with all it encloses on its thread: measured, and as it was
 * played last. */
int64_t fd_play_measured_end(const fd_play_rank *rank, uint32_t place);
int64_t fd_play_end(const fd_play_rank *rank, uint32_t place);

#endif
