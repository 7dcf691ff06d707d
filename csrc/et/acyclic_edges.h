/* Edges of a graph without those that close a cycle. */
#ifndef FD_ACYCLIC_EDGES_H
#define FD_ACYCLIC_EDGES_H

#include "et/et_graph.h"

/* Drop the edges from `first` on that close a cycle with the edges before
 * them. `order` is a topological order of all nodes for the edges before
 * `first`. */
fd_status fd_et_keep_acyclic(fd_et *et, const uint32_t *order, uint32_t first);

#endif
