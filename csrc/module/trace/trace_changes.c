/* Trace.replace: new values in columns of its tables. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "trace/canonical_order.h"
#include "json/json_text.h"

#include <string.h>

/* Add a text; the value of a fact in the spelling of dumps. */
static fd_status
add_text(fd_trace *trace, const fd_table *table, const fd_column *column,
         const char *text, uint32_t *id)
{
    fd_buffer spelled = {.bytes = NULL};
    if (table == &fd_facts_table && strcmp(column->name, "value") == 0) {
        fd_json_text(&spelled, text);
    }
    else {
        fd_buffer_text(&spelled, text);
    }
    return fd_text_pool_take(&trace->texts, &spelled, id);
}

/* Set a cell. Return false with an exception on failure. */
static bool
set_cell(fd_trace *trace, const fd_table *table, const fd_column *column,
         char *row, PyObject *value)
{
    uint32_t id = 0;
    if (column->type == FD_COLUMN_U32) {
        fd_cell_set(column, row, PyLong_AsUnsignedLongMask(value));
        return PyErr_Occurred() == NULL;
    }
    const char *text = PyUnicode_AsUTF8(value);
    if (text == NULL) {
        return false;
    }
    if (column->type == FD_COLUMN_CHARS) {
        if (strlen(text) >= column->bytes) {
            PyErr_Format(fd_value_error(),
                         "replace: %s: longer than %zu bytes", column->name,
                         column->bytes - 1);
            return false;
        }
        strcpy(row + column->offset, text);
        return true;
    }
    if (add_text(trace, table, column, text, &id) != FD_OK) {
        PyErr_NoMemory();
        return false;
    }
    fd_cell_set(column, row, id);
    trace->sorted = false;
    return true;
}

/* Return whether nothing refers to rows of the table by their number. */
static bool
is_independent(const fd_table *table)
{
    return table == &fd_facts_table || strcmp(table->name, "notes") == 0
        || strcmp(table->name, "iterations") == 0;
}

static bool
resize_rows(const fd_trace_rows *at, uint32_t count)
{
    fd_rank_list *rows = at->rows;
    size_t size = at->table->row_bytes;
    uint32_t more = count > rows->count ? count - rows->count : 0;
    if (!is_independent(at->table)) {
        PyErr_SetString(fd_value_error(), "replace: not one value per row");
        return false;
    }
    if (fd_vector_grow(&rows->list, rows->count, &rows->capacity, size, more)
        != FD_OK) {
        PyErr_NoMemory();
        return false;
    }
    if (more > 0) {
        memset((char *)rows->list + rows->count * size, 0, more * size);
    }
    rows->count = count;
    return true;
}

/* Return whether a column can have any value: a text, or flags. */
static bool
is_free(const fd_column *column)
{
    return column->type == FD_COLUMN_TEXT || column->type == FD_COLUMN_CHARS
        || strcmp(column->name, "flags") == 0
        || strcmp(column->name, "job") == 0;
}

static bool
replace_column(fd_trace *trace, const fd_trace_rows *at, const char *name,
               PyObject *values)
{
    const fd_table *table = at->table;
    const fd_column *column = fd_column_named(table, name);
    if (column == NULL || !is_free(column) || !PyList_Check(values)) {
        PyErr_Format(fd_value_error(), "replace: %s: no such column", name);
        return false;
    }
    uint32_t count = (uint32_t)PyList_GET_SIZE(values) + table->from_one;
    bool done = count == at->rows->count || resize_rows(at, count);
    for (uint32_t i = table->from_one; done && i < count; i++) {
        done = set_cell(trace, table, column,
                        (char *)at->rows->list + i * table->row_bytes,
                        PyList_GET_ITEM(values, i - table->from_one));
    }
    return done;
}

/* Replace columns of one table: (table, rank, {column: values}). */
static bool
replace_columns(PyObject *self, PyObject *item)
{
    const char *table;
    int rank;
    PyObject *columns;
    PyObject *key;
    PyObject *values;
    Py_ssize_t next = 0;
    fd_trace_rows at;
    if (!PyArg_Parse(item, "(siO!)", &table, &rank, &PyDict_Type, &columns)
        || !fd_trace_rows_of(self, table, rank, &at)) {
        return false;
    }
    while (PyDict_Next(columns, &next, &key, &values)) {
        const char *name = PyUnicode_AsUTF8(key);
        if (name == NULL
            || !replace_column(fd_trace_of(self), &at, name, values)) {
            return false;
        }
    }
    return true;
}

PyObject *
fd_trace_replace(PyObject *self, PyObject *changes)
{
    fd_trace *trace = fd_trace_of(self);
    PyObject *list = PySequence_Fast(changes, "changes must be a list");
    bool done = list != NULL;
    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(list); i++) {
        done = replace_columns(self, PySequence_Fast_GET_ITEM(list, i));
    }
    Py_XDECREF(list);
    if (done && fd_trace_sort(trace) != FD_OK) {
        PyErr_NoMemory();
        done = false;
    }
    return done ? Py_NewRef(Py_None) : NULL;
}
