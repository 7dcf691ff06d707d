/* Data edges: from the writer of a storage to its readers and the next writer.
 * They use storages, not tensors, because views share storages. PyTorch's
 * observer reuses ids of freed tensors, which joins unrelated calls. */
#ifndef FD_DATA_EDGES_H
#define FD_DATA_EDGES_H

#include "et/et_graph.h"

/* Add the data edges. `order` is the result of fd_et_walk. */
fd_status fd_et_find_data(fd_et *et, const uint32_t *order);

#endif
