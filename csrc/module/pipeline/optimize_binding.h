/* The planner of pipelines. */
#ifndef FD_OPTIMIZE_BINDING_H
#define FD_OPTIMIZE_BINDING_H

#include "module/state.h"

/* optimize(ids, costs, edges, machines, bandwidths, *, ...) -> dict */
PyObject *fd_optimize_py(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
