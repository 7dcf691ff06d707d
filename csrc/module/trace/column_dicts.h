/* Tables of the lower layers as Python dicts of lists, the form that pandas
 * takes directly. All answers are new references, NULL with an exception;
 * fd_columns_* consume their arguments and pass a failure on. */
#ifndef FD_COLUMN_DICTS_H
#define FD_COLUMN_DICTS_H

#include <Python.h>

#include "trace/trace_columns.h"

PyObject *fd_columns(const fd_table *table, const void *rows, uint32_t count,
                     const fd_text_pool *texts);

/* `columns` with one more item. */
PyObject *fd_columns_with(PyObject *columns, const char *name,
                          PyObject *values);

/* `columns` with the items of `more`. */
PyObject *fd_columns_join(PyObject *columns, PyObject *more);

PyObject *fd_text_object(const fd_text_pool *texts, uint32_t id);

/* The key text of every node, the full name of every module. */
PyObject *fd_node_keys(const fd_trace *trace);
PyObject *fd_module_paths(const fd_trace *trace);

#endif
