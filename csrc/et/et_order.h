/* A topological order of the nodes. */
#ifndef FD_ET_ORDER_H
#define FD_ET_ORDER_H

#include "et/et_graph.h"

/* Sort the nodes topologically; of the nodes that are ready, the one with the
 * lowest index is first. A cycle loses one edge, in this order of kinds: data,
 * group, event, sync, stream, given by the file, launch, order. A cycle that
 * the file states in part is counted in `et->faults`. Edges are sorted before
 * and after. `order` has one entry per node. */
void fd_et_sort_order(fd_et *et, uint32_t *order);

/* Sort topologically and renumber the indexes in this order. Ids must grow
 * along every edge and from parents to children: if the old ids do not, ids
 * from 1 on replace them. */
void fd_et_arrange(fd_et *et);

/* Reorder the nodes, with ids from 1 on. */
void fd_et_renumber(fd_et *et, const uint32_t *order);

#endif
