/* Nodes in an order in which each comes after all it waits for. */
#ifndef FD_ET_ORDER_H
#define FD_ET_ORDER_H

#include "et/et_graph.h"

/* Of nodes that may come next the one with the lowest place. Where edges go
 * round in a cycle, the least certain edge of it is taken out and counted in
 * `et->faults`: data before group, event, sync, stream, what the file gave,
 * launch, and order last. Edges are sorted before and after. `order` has room
 * for all. */
fd_status fd_et_sort_order(fd_et *et, uint32_t *order);

/* The same, and then nodes in that order with ids that grow along every edge
 * and from parents to children: kept where they do already, else from 1 on. */
fd_status fd_et_arrange(fd_et *et);

/* Nodes in this order, with ids from 1 on. */
fd_status fd_et_renumber(fd_et *et, const uint32_t *order);

#endif
