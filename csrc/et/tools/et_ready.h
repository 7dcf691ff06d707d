/* The dependencies of the nodes of a trace, and the delays and launch times
 * derived from the measured times. */
#ifndef FD_ET_READY_H
#define FD_ET_READY_H

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

/* A point in time: the start of a node, or the later of the end of `end` and
 * the start of `start`, plus `lag`. */
typedef struct fd_et_point {
    uint32_t end;   /* a node, + 1; 0: none */
    uint32_t start; /* the same */
    int64_t lag;
    uint32_t source; /* the node to report */
} fd_et_point;

/* The earliest start of edge->to according to one edge. False: the edge does
 * not delay it. Points to nodes before edge->to alone. */
bool fd_et_edge_point(const fd_et_sim_rank *rank, const fd_et_edge *edge,
                      fd_et_point *point);

/* Set starts, delays, launch times, enclosed nodes and awaited kernels. */
void fd_et_measure(fd_et_sim_rank *rank);

/* The end of a node with all it encloses on its thread: measured, and as
 * simulated in the last run. */
int64_t fd_et_measured_end(const fd_et_sim_rank *rank, uint32_t place);
int64_t fd_et_simulated_end(const fd_et_sim_rank *rank, uint32_t place);

static inline bool
fd_et_is_gpu(const fd_et_node *node)
{
    return (node->flags & FD_ET_GPU) != 0;
}

static inline bool
fd_et_communicates(const fd_et_node *node)
{
    return node->type >= FD_ET_SEND && node->comm != 0;
}

static inline int64_t
fd_et_scaled(int64_t ns, double factor)
{
    return fd_whole((double)ns * factor);
}

/* The end of the edges of a node that start at `edge`. */
static inline uint32_t
fd_et_edges_end(const fd_et *et, uint32_t place, uint32_t edge)
{
    while (edge < et->edges.count && et->edges.list[edge].to == place) {
        edge++;
    }
    return edge;
}

#endif
