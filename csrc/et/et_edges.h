/* Dependencies, derived from the nodes:
 *
 *     order   an operator waits for the previous one of its thread
 *     launch  a kernel waits for the last operator entered before it
 *     stream  kernels of a stream run one after the other
 *     group   communications of a process group run one after the other
 *     data    a tensor's storage is written before it is read, read before it
 *             is written again
 *
 * Readers add edges of events, of synchronisation and of the file. */
#ifndef FD_ET_EDGES_H
#define FD_ET_EDGES_H

#include "et/et_graph.h"

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

#endif
