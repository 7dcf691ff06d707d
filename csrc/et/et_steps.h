/* The steps that complete a trace whose nodes were read. Dependencies are
 * derived from the nodes:
 *
 *     order   an operator waits for the previous one of its thread
 *     launch  a kernel waits for the last operator entered before it
 *     stream  kernels of a stream run one after the other
 *     group   communications of a process group run one after the other
 *     data    a tensor's storage is written before it is read, read before it
 *             is written again
 *
 * Readers add edges of events, of synchronisation and of the file. */
#ifndef FD_ET_STEPS_H
#define FD_ET_STEPS_H

#include "et/et_graph.h"

/* Set missing times: nodes without times get the time range of their children
 * (FD_ET_GUESSED); nodes with a duration but no own time get the duration
 * minus that of their children on the same thread. Do nothing if no node has
 * times. */
void fd_et_fill_times(fd_et *et);

/* Set the own time of each node from the durations. */
void fd_et_find_self(fd_et *et);

/* Add the edges of these kinds (a mask), remove those of other kinds, and sort
 * them. Edges of FD_ET_WRITTEN nodes are in the file and only filtered. */
void fd_et_find_edges(fd_et *et, uint32_t kinds);

/* Store the nodes in `order`, depth-first: the roots by id, each followed by
 * the nodes that it encloses. `order` has one entry per node. */
void fd_et_walk(fd_et *et, uint32_t *order);

/* Drop the edges from `first` on that close a cycle with the edges before
 * them. `order` is a topological order of all nodes for the edges before
 * `first`. */
void fd_et_keep_acyclic(fd_et *et, const uint32_t *order, uint32_t first);

/* Add the data edges: from the writer of a storage to its readers and the next
 * writer. They use storages, not tensors, because views share storages.
 * PyTorch's observer reuses ids of freed tensors, which joins unrelated calls.
 * `order` is the result of fd_et_walk. */
void fd_et_find_data(fd_et *et, const uint32_t *order);

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
