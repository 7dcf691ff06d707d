/* Edges of tensors: who wrote a storage that is read or written now. Storages
 * and not tensors, since views share them; ids that PyTorch's observer gives
 * again after a tensor died join what is apart, in order of the program. */
#ifndef FD_DATA_EDGES_H
#define FD_DATA_EDGES_H

#include "et/et_graph.h"

/* `order` as fd_et_walk makes it. */
fd_status fd_et_find_data(fd_et *et, const uint32_t *order);

#endif
