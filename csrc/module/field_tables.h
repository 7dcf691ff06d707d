/* Conversion of structs of the lower layers to Python objects, by tables of
 * their fields (fd_table in trace/trace_columns.h). An array becomes a dict of
 * lists, which pandas accepts, or a list of dicts; one struct becomes a dict.
 *
 * All functions return a new reference, or NULL with an exception. They steal
 * references to object arguments; if one is NULL, the result is NULL. */
#ifndef FD_FIELD_TABLES_H
#define FD_FIELD_TABLES_H

#include <Python.h>

#include "trace/trace_columns.h"

/* Return {column: [value per row]}. */
PyObject *fd_columns(const fd_table *table, const void *rows, uint32_t count,
                     const fd_text_pool *texts);

/* Return {column: memoryview of its values, as they are in the struct}: flags
 * are bytes, enumerations numbers. A column of texts is a list. */
PyObject *fd_arrays(const fd_table *table, const void *rows, uint32_t count,
                    const fd_text_pool *texts);

/* Return {column: value} of one row, [{column: value}] of several. No column
 * is a text. */
PyObject *fd_record(const fd_table *table, const void *row);
PyObject *fd_records(const fd_table *table, const void *rows, uint32_t count);

/* Add one item, or the items of another dict, to a dict and return it. */
PyObject *fd_columns_with(PyObject *columns, const char *name,
                          PyObject *values);
PyObject *fd_columns_join(PyObject *columns, PyObject *more);

/* Append an item to a list and return the list. */
PyObject *fd_list_with(PyObject *list, PyObject *item);

PyObject *fd_text_object(const fd_text_pool *texts, uint32_t id);

/* Return the texts that `write` writes for the rows 1 to `count` - 1: keys of
 * nodes, full names of modules. */
PyObject *fd_trace_texts(const fd_trace *trace, uint32_t count,
                         void (*write)(const fd_trace *, uint32_t,
                                       fd_buffer *));

/* Return a list of numbers, `stride` bytes from one to the next. */
PyObject *fd_value_list(fd_column_type type, const void *values, size_t stride,
                        uint32_t count);

static inline PyObject *
fd_number_list(const uint32_t *numbers, uint32_t count)
{
    return fd_value_list(FD_COLUMN_U32, numbers, sizeof *numbers, count);
}

#endif
