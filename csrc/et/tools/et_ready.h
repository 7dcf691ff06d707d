/* The dependencies of the nodes of a trace, and the delays and launch times
 * derived from the measured times. */
#ifndef FD_ET_READY_H
#define FD_ET_READY_H

#include "et/et_graph.h"

/* A node of a rank; index 0: no node. */
typedef struct fd_et_ref {
    uint32_t rank;
    uint32_t index; /* a reference */
} fd_et_ref;

typedef struct fd_et_sim_node {
    int64_t measured; /* measured start; of a node without times, the earliest
                       * possible start */
    int64_t delay;    /* measured, after `ready` */
    int64_t launch;   /* from the start of the launching call */
    int64_t ready;    /* simulated, like the next three */
    int64_t start;
    int64_t begun;
    int64_t end;     /* only of nodes without children */
    fd_et_ref after; /* the dependency that ended last */
    fd_et_ref late;  /* last arrival in its match; no node: its own */
    uint32_t last;   /* reference of the last node it encloses on its thread */
    uint32_t synced; /* reference of the kernel that it waited for */
    uint32_t match;  /* its collective or message; 0: no match */
    bool all;        /* waits for all other nodes of its match, at least two */
    bool alone;      /* waits for no other node, to break a deadlock */
} fd_et_sim_node;

typedef struct fd_et_sim_rank {
    const fd_et *et;
    fd_et_sim_node *nodes; /* owned */
    double *factors;       /* owned; factor of the own time of each node */
    uint32_t first_job;
} fd_et_sim_rank;

/* A point in time: the start of a node, or the later of the end of `end` and
 * the start of `start`, plus `lag`. */
typedef struct fd_et_point {
    uint32_t end;   /* a reference */
    uint32_t start; /* a reference */
    int64_t lag;
    uint32_t source; /* the node to report as the cause */
} fd_et_point;

/* Return in `point` the earliest start of edge->to that one edge permits;
 * return false if the edge does not delay it. Only nodes before edge->to are
 * used. */
bool fd_et_edge_point(const fd_et_sim_rank *rank, const fd_et_edge *edge,
                      fd_et_point *point);

/* Set starts, delays, launch times, enclosed nodes and awaited kernels. */
void fd_et_measure(fd_et_sim_rank *rank);

/* Return the end of a node with all nodes that it encloses on its thread: the
 * measured end, and the end in the last simulation. */
int64_t fd_et_measured_end(const fd_et_sim_rank *rank, uint32_t index);
int64_t fd_et_simulated_end(const fd_et_sim_rank *rank, uint32_t index);

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

/* Return the end of the range of edges into a node that starts at `edge`. */
static inline uint32_t
fd_et_edges_end(const fd_et *et, uint32_t index, uint32_t edge)
{
    while (edge < et->edges.count && et->edges.list[edge].to == index) {
        edge++;
    }
    return edge;
}

#endif
