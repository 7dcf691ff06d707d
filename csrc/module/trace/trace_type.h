/* Trace objects: recordings, dumps and merges in memory. */
#ifndef FD_TRACE_TYPE_H
#define FD_TRACE_TYPE_H

#include "module/state.h"
#include "trace/trace_columns.h"

/* Return a Trace object. It owns the trace; after a failure the trace is
 * freed. */
PyObject *fd_trace_object(PyObject *module, fd_trace *trace);

/* Return the trace of a Trace object, borrowed. */
fd_trace *fd_trace_of(PyObject *self);

/* Return whether `rank` is FD_ALL_RANKS or the index of a rank, else raise
 * IndexError. */
bool fd_trace_rank_fits(PyObject *self, int rank);

/* The rows of a table, borrowed. */
typedef struct fd_trace_rows {
    const fd_table *table;
    fd_rank_list *rows;
    fd_rank_list own;      /* `rows` of a table that is the rank itself, ... */
    fd_rank_list counters; /* ... or its counters */
} fd_trace_rows;

/* Find a table by its name: of a rank, or for FD_ALL_RANKS one that all ranks
 * share. Return false with an exception if it does not exist. */
bool fd_trace_rows_of(PyObject *self, const char *name, int rank,
                      fd_trace_rows *rows);

/* Methods; their signatures are in module/trace/trace_type.c. */
PyObject *fd_trace_columns(PyObject *self, PyObject *args);
PyObject *fd_trace_arrays(PyObject *self, PyObject *args);
PyObject *fd_trace_replace(PyObject *self, PyObject *changes);
PyObject *fd_trace_contexts(PyObject *self, PyObject *args);
PyObject *fd_trace_totals(PyObject *self, PyObject *args);
PyObject *fd_trace_table(PyObject *self, PyObject *args);
PyObject *fd_trace_groups(PyObject *self, PyObject *args);
PyObject *fd_trace_stream(PyObject *self, PyObject *name);
PyObject *fd_trace_streams(PyObject *self, PyObject *unused);

/* Trace.export(format, *, ...) -> bytes */
PyObject *fd_trace_export(PyObject *self, PyObject *args, PyObject *kwargs);

/* Functions of the module. */
PyObject *fd_tables_py(PyObject *module, PyObject *unused);
PyObject *fd_load_tables_py(PyObject *module, PyObject *tables);

#endif
