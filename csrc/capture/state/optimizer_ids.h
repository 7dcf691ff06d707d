/* Numbers of optimizers, from 1. The table has weak references, so that a new
 * optimizer at the address of one that is gone has another number. Requires the
 * GIL and, because it creates objects, an fd_guard. */
#ifndef FD_OPTIMIZER_IDS_H
#define FD_OPTIMIZER_IDS_H

#include "base/map.h"
#include "base/vector.h"

typedef struct fd_optimizer_ids {
    FD_VECTOR(PyObject *)
    references;        /* owned weak references, by number - 1 */
    fd_map by_address; /* object address -> latest number */
} fd_optimizer_ids;

void fd_optimizer_ids_clear(fd_optimizer_ids *ids);

/* Return the number of an optimizer. Without memory, or if it has no weak
 * references, this is its address. */
uint64_t fd_optimizer_id(fd_optimizer_ids *ids, PyObject *optimizer);

#endif
