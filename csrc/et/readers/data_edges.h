/* Edges of tensors: from the writer of a storage to its readers and the next
 * writer. Storages, not tensors, because views share them. PyTorch's observer
 * reuses ids of freed tensors, which joins unrelated calls. */
#ifndef FD_DATA_EDGES_H
#define FD_DATA_EDGES_H

#include "et/et_graph.h"

/* `order`: of fd_et_walk. */
fd_status fd_et_find_data(fd_et *et, const uint32_t *order);

#endif
