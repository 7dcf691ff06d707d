/* fastdispatch._core.Graph, split over files like Trace. */
#ifndef FD_GRAPH_TYPE_H
#define FD_GRAPH_TYPE_H

#include <Python.h>

#include "pipeline/planner/layer_graph.h"

/* Return the model of a Graph, borrowed. */
const fd_model *fd_model_of(PyObject *self);

/* Method in graph_optimize.c. */
PyObject *fd_graph_optimize(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
