/* Trace.replace: new values in columns of its tables; load_tables(): a trace
 * from tables. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "trace/canonical_order.h"
#include "trace/step_window.h"
#include "json/json_text.h"

#include <math.h>
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

/* Set a cell to a text. Return false with an exception on failure. */
static bool
set_cell(fd_trace *trace, const fd_table *table, const fd_column *column,
         char *row, PyObject *value)
{
    uint32_t id = 0;
    const char *text = PyUnicode_AsUTF8(value);
    if (text == NULL) {
        return false;
    }
    if (column->type == FD_COLUMN_CHARS) {
        if (strlen(text) >= column->bytes) {
            PyErr_Format(fd_value_error(), "%s: longer than %zu bytes",
                         column->name, column->bytes - 1);
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

/* Set the cells of a column to texts, one per row. */
static bool
set_cells(fd_trace *trace, const fd_trace_rows *at, const fd_column *column,
          PyObject *values)
{
    uint32_t first = at->table->from_one;
    bool done =
        (Py_ssize_t)(at->rows->count - first) == PyList_GET_SIZE(values);
    for (uint32_t i = first; done && i < at->rows->count; i++) {
        done = set_cell(trace, at->table, column,
                        (char *)at->rows->list + i * at->table->row_bytes,
                        PyList_GET_ITEM(values, i - first));
    }
    return done;
}

/* Return whether a column can have any value: a text, or flags. */
static bool
is_free(const fd_column *column)
{
    return column->type == FD_COLUMN_TEXT || column->type == FD_COLUMN_CHARS
        || strcmp(column->name, "flags") == 0
        || strcmp(column->name, "job") == 0;
}

/* Return whether a number of a dump fits its column, and convert it. In JSON,
 * integers up to 2^53 are exact. */
static bool
take_number(const fd_column *column, char format, uint64_t most,
            uint64_t *value)
{
    static const int64_t exact = INT64_C(1) << 53;
    int64_t whole = (int64_t)*value;
    double number;
    if (column->type == FD_COLUMN_DOUBLE) {
        memcpy(&number, value, sizeof number);
        number = format == 'd' ? number : (double)whole;
        memcpy(value, &number, sizeof number);
        return number >= 0 && isfinite(number);
    }
    if (column->type == FD_COLUMN_INDEX || column->type == FD_COLUMN_CONTEXT) {
        ++*value;
        return whole >= -1 && *value <= most;
    }
    return *value <= most && (format == 'Q' || (whole >= 0 && whole <= exact));
}

/* Return the largest value of a column. */
static uint64_t
most_of(const fd_column *column)
{
    uint64_t names = 0;
    while (column->names != NULL && column->names[names] != NULL) {
        names++;
    }
    return names > 0 ? names - 1
                     : UINT64_MAX >> (64 - 8 * fd_cell_bytes(column));
}

/* Set a column of numbers from an array of q, Q (also above 2^53) or d. */
static bool
set_numbers(const fd_trace_rows *at, const fd_column *column,
            const Py_buffer *view)
{
    uint32_t first = at->table->from_one;
    size_t count = at->rows->count - first;
    uint64_t most = most_of(column);
    char *row = (char *)at->rows->list + first * at->table->row_bytes;
    bool fits =
        (size_t)view->len == count * sizeof(uint64_t) && view->format != NULL;
    for (size_t i = 0; fits && i < count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)view->buf + i * sizeof value,
               sizeof value);
        fits = take_number(column, *view->format, most, &value);
        fd_cell_set(column, row + i * at->table->row_bytes, value);
    }
    return fits;
}

/* Set a column of numbers, or a whole field. */
static bool
set_array(const fd_trace_rows *at, const fd_column *column, PyObject *values)
{
    Py_buffer view;
    if (PyObject_GetBuffer(values, &view, PyBUF_FORMAT) < 0) {
        return false;
    }
    bool field = column->type == FD_COLUMN_CHARS;
    bool fits = field ? (size_t)view.len == column->bytes
                      : set_numbers(at, column, &view);
    if (field && fits) {
        memcpy((char *)at->rows->list + column->offset, view.buf,
               column->bytes);
    }
    PyBuffer_Release(&view);
    return fits;
}

/* Set a column: a list of texts, or an array. */
static bool
load_column(fd_trace *trace, const fd_trace_rows *at, bool replaces,
            PyObject *name, PyObject *values)
{
    const char *wanted = PyUnicode_AsUTF8(name);
    const fd_column *column =
        wanted == NULL ? NULL : fd_column_named(at->table, wanted);
    bool done = column != NULL && (!replaces || is_free(column))
             && (PyList_Check(values) ? set_cells(trace, at, column, values)
                                      : set_array(at, column, values));
    if (!done && PyErr_Occurred() == NULL) {
        PyErr_Format(fd_value_error(),
                     "%s.%U: a value has the wrong type or range",
                     at->table->name, name);
    }
    return done;
}

/* Return whether the references of a column are contexts. A row of a table by
 * context has one. */
static bool
has_contexts(fd_trace *trace, const fd_trace_rows *at)
{
    bool keyed = fd_table_is_keyed(at->table);
    bool good = true;
    for (size_t c = 0; c < at->table->count; c++) {
        const fd_column *column = &at->table->columns[c];
        for (uint32_t i = 0;
             i < at->rows->count && column->type == FD_COLUMN_CONTEXT; i++) {
            uint64_t id = fd_cell(column, (char *)at->rows->list
                                              + i * at->table->row_bytes);
            good &= id < trace->contexts.count && (id > 0 || !keyed);
        }
    }
    if (!good) {
        PyErr_Format(fd_value_error(), "%s: no such context", at->table->name);
    }
    return good;
}

/* Find a table and give it its rows; add the next rank of a new trace. Only
 * tables to whose rows nothing refers can get another number later. */
static bool
find_table(PyObject *self, const char *table, int rank, unsigned int rows,
           bool replaces, fd_trace_rows *at)
{
    fd_trace *trace = fd_trace_of(self);
    if (!replaces && rank == (int)trace->ranks.count
        && fd_trace_add_rank(trace) == NULL) {
        PyErr_NoMemory();
        return false;
    }
    return fd_trace_rows_of(self, table, rank, at)
        && (at->rows == &at->own || (replaces && !is_independent(at->table))
            || resize_rows(at, rows + at->table->from_one));
}

/* Set the columns of (table, rank, rows, {column: values}). */
static bool
load_table(PyObject *self, PyObject *item, bool replaces)
{
    const char *table;
    int rank;
    unsigned int rows;
    PyObject *columns;
    PyObject *key;
    PyObject *values;
    Py_ssize_t next = 0;
    fd_trace_rows at;
    bool done = PyArg_Parse(item, "(siIO!)", &table, &rank, &rows,
                            &PyDict_Type, &columns)
             && find_table(self, table, rank, rows, replaces, &at);
    while (done && PyDict_Next(columns, &next, &key, &values)) {
        done = load_column(fd_trace_of(self), &at, replaces, key, values);
    }
    if (replaces || !done) {
        return done;
    }
    done = has_contexts(fd_trace_of(self), &at);
    if (done && at.table == &fd_marks_table) {
        fd_steps_choose(&fd_trace_of(self)->ranks.list[rank], NULL);
    }
    return done;
}

/* Set the columns of all items. */
static bool
load_all(PyObject *self, PyObject *items, bool replaces)
{
    PyObject *all = PyObject_GetIter(items);
    PyObject *item;
    bool done = all != NULL;
    while (done && (item = PyIter_Next(all)) != NULL) {
        done = load_table(self, item, replaces);
        Py_DECREF(item);
    }
    Py_XDECREF(all);
    return done && PyErr_Occurred() == NULL;
}

PyObject *
fd_trace_replace(PyObject *self, PyObject *changes)
{
    if (!load_all(self, changes, true)) {
        return NULL;
    }
    return fd_trace_sort(fd_trace_of(self)) == FD_OK ? Py_NewRef(Py_None)
                                                     : PyErr_NoMemory();
}

PyObject *
fd_load_tables_py(PyObject *module, PyObject *tables)
{
    fd_trace *trace = fd_trace_new();
    PyObject *made =
        trace == NULL ? PyErr_NoMemory() : fd_trace_object(module, trace);
    if (made != NULL && !load_all(made, tables, false)) {
        Py_CLEAR(made);
    }
    return made;
}
