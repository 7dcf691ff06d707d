/* fastdispatch._core.Graph, split over files like Trace. */
#ifndef FD_GRAPH_TYPE_H
#define FD_GRAPH_TYPE_H

#include <Python.h>

#include "pipeline/planner/layer_graph.h"

/* Borrowed from the object. */
const fd_model *fd_model_of(PyObject *self);

/* graph_optimize.c */
PyObject *fd_graph_optimize(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
