/* The call paths that launched work into CUDA graphs: noted when a graph is
 * captured, and looked up when the kernels of a replay are read.
 *
 *     capture      node 1:0 ── created ──► call path
 *     instantiate  node 2:0 ── cloned from 1:0 ──► the same
 *     replay       kernel of node 2:0
 *
 * Any thread writes without a lock, and one thread reads. There is space for a
 * number of nodes: kernels of others belong to the call that replays them. */
#ifndef FD_GRAPH_NODES_H
#define FD_GRAPH_NODES_H

#include <stdatomic.h>
#include <stdint.h>

enum { FD_GRAPH_NODES = 65536 };

typedef struct fd_graph_node {
    _Atomic uint64_t id; /* of CUPTI; 0: free */
    _Atomic uint32_t context;
} fd_graph_node;

typedef struct fd_graph_nodes {
    _Atomic uint32_t count;
    fd_graph_node list[FD_GRAPH_NODES];
} fd_graph_nodes;

/* Remove all nodes, while no other thread uses them. */
void fd_graph_nodes_clear(fd_graph_nodes *nodes);

/* Note the call path of a node; without space for it, nothing. */
void fd_graph_nodes_put(fd_graph_nodes *nodes, uint64_t id, uint32_t context);

/* Return the call path of a node; 0: not known. */
uint32_t fd_graph_nodes_get(const fd_graph_nodes *nodes, uint64_t id);

#endif
