/* Traces as Python objects. */
#ifndef FD_TRACE_TYPE_H
#define FD_TRACE_TYPE_H

#include "module/state.h"
#include "profile/call_groups.h"

/* Takes ownership of the trace, also after a failure. */
PyObject *fd_trace_object(PyObject *module, fd_trace *trace);

/* The trace of a Trace object; borrowed. */
fd_trace *fd_trace_of(PyObject *self);

/* Whether `rank` is an index of its ranks or FD_ALL_RANKS, else IndexError. */
bool fd_trace_rank_fits(PyObject *self, int rank);

/* Methods; module/trace/trace_type.c has their signatures. */
PyObject *fd_trace_nodes(PyObject *self, PyObject *unused);
PyObject *fd_trace_modules(PyObject *self, PyObject *unused);
PyObject *fd_trace_contexts(PyObject *self, PyObject *args);
PyObject *fd_trace_ranks(PyObject *self, PyObject *unused);
PyObject *fd_trace_figures(PyObject *self, PyObject *args);
PyObject *fd_trace_jobs(PyObject *self, PyObject *args);
PyObject *fd_trace_table(PyObject *self, PyObject *args);
PyObject *fd_trace_edges(PyObject *self, PyObject *args);
PyObject *fd_trace_groups(PyObject *self, PyObject *args);
PyObject *fd_trace_coverage(PyObject *self, PyObject *args);
PyObject *fd_trace_timeline_rows(PyObject *self, PyObject *args);
PyObject *fd_trace_clocks(PyObject *self, PyObject *unused);
PyObject *fd_trace_reduced(PyObject *self, PyObject *args);
PyObject *fd_trace_settled(PyObject *self, PyObject *unused);
PyObject *fd_trace_spreads(PyObject *self, PyObject *unused);
PyObject *fd_trace_stream(PyObject *self, PyObject *name);
PyObject *fd_trace_streams(PyObject *self, PyObject *unused);
PyObject *fd_trace_diff(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *fd_trace_joined(PyObject *self, PyObject *args);

/* Of node, function, ...: false with ValueError. */
bool fd_take_grouping(const char *name, fd_grouping *grouping);

/* Trace.export(format, *, ...) -> bytes */
PyObject *fd_trace_export(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
