/* Edges that are added to a graph only if they close no cycle. */
#ifndef FD_ACYCLIC_EDGES_H
#define FD_ACYCLIC_EDGES_H

#include "et/et_graph.h"

/* Drop, of the edges from `first` on, those that close a cycle with the edges
 * before them. `order` has all nodes in an order that the edges before `first`
 * follow. */
fd_status fd_et_keep_acyclic(fd_et *et, const uint32_t *order, uint32_t first);

#endif
