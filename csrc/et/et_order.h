/* A topological order of the nodes. */
#ifndef FD_ET_ORDER_H
#define FD_ET_ORDER_H

#include "et/et_graph.h"

/* Of the ready nodes, the one with the lowest place is first. A cycle loses
 * one edge: data before group, event, sync, stream, given by the file, launch,
 * and order; it is counted in `et->faults` if the file states part of it.
 * Edges are sorted before and after. `order` has one entry per node. */
fd_status fd_et_sort_order(fd_et *et, uint32_t *order);

/* The same, and then nodes in that order with ids that grow along every edge
 * and from parents to children: the old ids if they do, otherwise from 1
 * on. */
fd_status fd_et_arrange(fd_et *et);

/* Nodes in this order, with ids from 1 on. */
fd_status fd_et_renumber(fd_et *et, const uint32_t *order);

#endif
