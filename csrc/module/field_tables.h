/* Structs of the lower layers as Python objects, by tables of their fields
 * (fd_table in trace/trace_columns.h): an array becomes a dict of lists, which
 * pandas accepts, or a list of dicts; one struct becomes a dict.
 *
 * All functions return a new reference, or NULL with an exception. Arguments
 * that are objects are consumed; if one is NULL, the result is NULL. */
#ifndef FD_FIELD_TABLES_H
#define FD_FIELD_TABLES_H

#include <Python.h>

#include "trace/trace_columns.h"

/* {column: [value per row]} */
PyObject *fd_columns(const fd_table *table, const void *rows, uint32_t count,
                     const fd_text_pool *texts);

/* {column: value} of one row; `texts` may be NULL if no column is a text. */
PyObject *fd_record(const fd_table *table, const void *row,
                    const fd_text_pool *texts);

/* Completes the dict of one row; Py_None skips the row. */
typedef PyObject *fd_record_rest(PyObject *record, const void *row,
                                 const void *context);

/* [{column: value}]; `rest` may be NULL. */
PyObject *fd_records(const fd_table *table, const void *rows, uint32_t count,
                     const fd_text_pool *texts, fd_record_rest *rest,
                     const void *context);

/* {name(i): counts[i]}, without zeros unless `zeros`. */
PyObject *fd_named_counts(const char *(*name)(int), const uint64_t *counts,
                          int count, bool zeros);

/* A dict with one more item, and with the items of another. */
PyObject *fd_columns_with(PyObject *columns, const char *name,
                          PyObject *values);
PyObject *fd_columns_join(PyObject *columns, PyObject *more);

/* A list with one more item. */
PyObject *fd_list_with(PyObject *list, PyObject *item);

PyObject *fd_text_object(const fd_text_pool *texts, uint32_t id);

/* The key text of every node, the full name of every module. */
PyObject *fd_node_keys(const fd_trace *trace);
PyObject *fd_module_paths(const fd_trace *trace);

/* The text of a buffer, which is cleared. */
PyObject *fd_buffer_object(fd_buffer *text);

/* The numbers of a list as a new array, which has one item more; NULL with an
 * exception. `format`: of PyArg_Parse, for items of `size` bytes. */
void *fd_take_numbers(PyObject *list, const char *format, size_t size);

/* New lists; `stride`: from one number to the next. */
PyObject *fd_number_list(const uint32_t *numbers, uint32_t count);
PyObject *fd_time_list(const int64_t *times, size_t count, size_t stride);

#endif
