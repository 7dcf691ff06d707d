/* Partition of layers into stages. */
#ifndef FD_PARTITION_BINDING_H
#define FD_PARTITION_BINDING_H

#include "module/state.h"

/* partition(sums, stages, method, /) -> list[int] */
PyObject *fd_partition_py(PyObject *module, PyObject *args);

#endif
