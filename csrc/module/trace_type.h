/* Traces as Python objects. */
#ifndef FD_MODULE_TRACE_TYPE_H
#define FD_MODULE_TRACE_TYPE_H

#include "io/trace.h"
#include "module/state.h"

/* Takes the trace over, in failure too. */
PyObject *fd_trace_object(PyObject *module, fd_trace *trace);

#endif
