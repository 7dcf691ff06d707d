/* The nodes of one rank in a simulation. */
#ifndef FD_SIMULATED_RANK_H
#define FD_SIMULATED_RANK_H

#include "et/et_graph.h"

/* A node of a rank; place 0: none. */
typedef struct fd_et_ref {
    uint32_t rank;
    uint32_t place; /* + 1 */
} fd_et_ref;

typedef struct fd_et_sim_node {
    int64_t measured; /* measured start; without times the earliest possible
                         one */
    int64_t delay;    /* measured */
    int64_t launch;   /* from the start of the launching call */
    int64_t ready;    /* simulated, as the three below */
    int64_t start;
    int64_t begun;
    int64_t end;     /* of a node that encloses nothing */
    fd_et_ref after; /* the dependency that ended last */
    fd_et_ref late;  /* the last arrival; none: the node itself */
    uint32_t last;   /* the last node it encloses on its thread, + 1 */
    uint32_t synced; /* the kernel that it waited for, + 1 */
    uint32_t match;  /* collective or message; 0: none */
    bool all;        /* waits for all others of its match, at least two */
    bool alone;      /* waits for no other member: a deadlock */
} fd_et_sim_node;

typedef struct fd_et_sim_rank {
    const fd_et *et;
    fd_et_sim_node *nodes; /* owned */
    double *factors;       /* owned; factor of each node's own time */
    uint32_t first_job;
} fd_et_sim_rank;

#endif
