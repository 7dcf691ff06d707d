/* Trace objects: recordings, dumps and merges in memory. */
#ifndef FD_TRACE_TYPE_H
#define FD_TRACE_TYPE_H

#include "module/state.h"
#include "profile/call_groups.h"

/* Return a Trace object. It owns the trace; after a failure the trace is
 * freed. */
PyObject *fd_trace_object(PyObject *module, fd_trace *trace);

/* Return the trace of a Trace object, borrowed. */
fd_trace *fd_trace_of(PyObject *self);

/* Return whether `rank` is FD_ALL_RANKS or the index of a rank, else raise
 * IndexError. */
bool fd_trace_rank_fits(PyObject *self, int rank);

/* Methods; their signatures are in module/trace/trace_type.c. */
PyObject *fd_trace_nodes(PyObject *self, PyObject *unused);
PyObject *fd_trace_modules(PyObject *self, PyObject *unused);
PyObject *fd_trace_contexts(PyObject *self, PyObject *args);
PyObject *fd_trace_totals(PyObject *self, PyObject *args);
PyObject *fd_trace_ranks(PyObject *self, PyObject *unused);
PyObject *fd_trace_figures(PyObject *self, PyObject *args);
PyObject *fd_trace_jobs(PyObject *self, PyObject *args);
PyObject *fd_trace_unsettled(PyObject *self, PyObject *unused);
PyObject *fd_trace_settle(PyObject *self, PyObject *ranks);
PyObject *fd_trace_table(PyObject *self, PyObject *args);
PyObject *fd_trace_groups(PyObject *self, PyObject *args);
PyObject *fd_trace_coverage(PyObject *self, PyObject *args);
PyObject *fd_trace_timeline_rows(PyObject *self, PyObject *args);
PyObject *fd_trace_clock_facts(PyObject *self, PyObject *moments);
PyObject *fd_trace_settled(PyObject *self, PyObject *unused);
PyObject *fd_trace_shared(PyObject *self, PyObject *unused);
PyObject *fd_trace_stream(PyObject *self, PyObject *name);
PyObject *fd_trace_streams(PyObject *self, PyObject *unused);

/* Convert "node", "function", ... to a grouping. Return false with ValueError
 * for other names. */
bool fd_take_grouping(const char *name, fd_grouping *grouping);

/* Trace.export(format, *, ...) -> bytes */
PyObject *fd_trace_export(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
