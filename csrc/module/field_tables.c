#include "module/field_tables.h"

#include "base/alloc.h"

#include <string.h>

/* Decode UTF-8. Names in programs may be invalid UTF-8, which must not
 * raise. */
static PyObject *
decode_text(const char *text, size_t size)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
}

PyObject *
fd_text_object(const fd_text_pool *texts, uint32_t id)
{
    return decode_text(fd_text_pool_get(texts, id),
                       fd_text_pool_size(texts, id));
}

static PyObject *
cell_object(const fd_column *column, const void *row,
            const fd_text_pool *texts)
{
    uint64_t value = fd_cell(column, row);
    const char *chars = (const char *)row + column->offset;
    double number;
    switch (column->type) {
    case FD_COLUMN_INDEX:
    case FD_COLUMN_CONTEXT:
        return PyLong_FromLongLong((long long)value - 1);
    case FD_COLUMN_TEXT:
        return fd_text_object(texts, (uint32_t)value);
    case FD_COLUMN_BOOL:
        return PyBool_FromLong(value != 0);
    case FD_COLUMN_DOUBLE:
        memcpy(&number, &value, sizeof number);
        return PyFloat_FromDouble(number);
    case FD_COLUMN_U64_OR_NONE:
        return value == 0 ? Py_NewRef(Py_None)
                          : PyLong_FromUnsignedLongLong(value - 1);
    case FD_COLUMN_I64_OR_NONE:
        return (int64_t)value < 0 ? Py_NewRef(Py_None)
                                  : PyLong_FromLongLong((long long)value);
    case FD_COLUMN_I32:
    case FD_COLUMN_I64:
        return PyLong_FromLongLong((long long)value);
    case FD_COLUMN_CHARS:
        return decode_text(chars, strnlen(chars, column->bytes));
    case FD_COLUMN_STRING:
        memcpy(&chars, chars, sizeof chars);
        return decode_text(chars, strlen(chars));
    case FD_COLUMN_U8:
    case FD_COLUMN_U16:
    case FD_COLUMN_U32:
    case FD_COLUMN_U64:
        break;
    }
    return column->names != NULL
             ? PyUnicode_InternFromString(column->names[value])
             : PyLong_FromUnsignedLongLong(value);
}

static PyObject *
column_list(const fd_table *table, const fd_column *column, const void *rows,
            uint32_t count, const fd_text_pool *texts)
{
    uint32_t first = table->from_one && count > 0;
    PyObject *list = PyList_New((Py_ssize_t)(count - first));
    for (uint32_t i = first; list != NULL && i < count; i++) {
        PyObject *cell = cell_object(
            column, (const char *)rows + i * table->row_bytes, texts);
        if (cell == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)(i - first), cell);
    }
    return list;
}

PyObject *
fd_value_list(fd_column_type type, const void *values, size_t stride,
              uint32_t count)
{
    const fd_column column = {.type = type};
    const fd_table table = {.row_bytes = stride};
    return column_list(&table, &column, values, count, NULL);
}

PyObject *
fd_columns(const fd_table *table, const void *rows, uint32_t count,
           const fd_text_pool *texts)
{
    PyObject *columns = PyDict_New();
    for (size_t i = 0; columns != NULL && i < table->count; i++) {
        columns = fd_columns_with(
            columns, table->columns[i].name,
            column_list(table, &table->columns[i], rows, count, texts));
    }
    return columns;
}

/* Formats of the module struct. */
static const char *const cell_formats[] = {
    [FD_COLUMN_U8] = "B",          [FD_COLUMN_BOOL] = "?",
    [FD_COLUMN_U16] = "H",         [FD_COLUMN_U32] = "I",
    [FD_COLUMN_INDEX] = "I",       [FD_COLUMN_CONTEXT] = "I",
    [FD_COLUMN_U64] = "Q",         [FD_COLUMN_U64_OR_NONE] = "Q",
    [FD_COLUMN_I32] = "i",         [FD_COLUMN_I64] = "q",
    [FD_COLUMN_I64_OR_NONE] = "q", [FD_COLUMN_DOUBLE] = "d"};

/* Copy cells of equal size. Inline, so that common sizes are constants. */
static inline void
copy_cells(char *to, const char *from, size_t size, size_t stride,
           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * size, from + i * stride, size);
    }
}

static PyObject *
column_array(const fd_table *table, const fd_column *column, const void *rows,
             uint32_t count)
{
    size_t size = fd_cell_bytes(column);
    uint32_t first = table->from_one && count > 0;
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(size * (count - first)));
    if (bytes == NULL) {
        return NULL;
    }
    char *to = PyBytes_AS_STRING(bytes);
    size_t stride = table->row_bytes;
    const char *from = (const char *)rows + column->offset + first * stride;
    if (size == 8) {
        copy_cells(to, from, 8, stride, count - first);
    }
    else if (size == 4) {
        copy_cells(to, from, 4, stride, count - first);
    }
    else {
        copy_cells(to, from, size, stride, count - first);
    }
    PyObject *view = PyMemoryView_FromObject(bytes);
    PyObject *array = view == NULL
                        ? NULL
                        : PyObject_CallMethod(view, "cast", "s",
                                              cell_formats[column->type]);
    Py_XDECREF(view);
    Py_DECREF(bytes);
    return array;
}

PyObject *
fd_arrays(const fd_table *table, const void *rows, uint32_t count,
          const fd_text_pool *texts)
{
    PyObject *arrays = PyDict_New();
    for (size_t i = 0; arrays != NULL && i < table->count; i++) {
        const fd_column *column = &table->columns[i];
        bool numbers =
            fd_cell_bytes(column) > 0 && column->type != FD_COLUMN_TEXT;
        arrays = fd_columns_with(
            arrays, column->name,
            numbers ? column_array(table, column, rows, count)
                    : column_list(table, column, rows, count, texts));
    }
    return arrays;
}

PyObject *
fd_record(const fd_table *table, const void *row)
{
    PyObject *record = PyDict_New();
    for (size_t i = 0; record != NULL && i < table->count; i++) {
        record = fd_columns_with(record, table->columns[i].name,
                                 cell_object(&table->columns[i], row, NULL));
    }
    return record;
}

PyObject *
fd_records(const fd_table *table, const void *rows, uint32_t count)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        list = fd_list_with(
            list, fd_record(table, (const char *)rows + i * table->row_bytes));
    }
    return list;
}

PyObject *
fd_list_with(PyObject *list, PyObject *item)
{
    if (list == NULL || item == NULL || PyList_Append(list, item) < 0) {
        Py_CLEAR(list);
    }
    Py_XDECREF(item);
    return list;
}

PyObject *
fd_columns_with(PyObject *columns, const char *name, PyObject *values)
{
    if (columns == NULL || values == NULL
        || PyDict_SetItemString(columns, name, values) < 0) {
        Py_CLEAR(columns);
    }
    Py_XDECREF(values);
    return columns;
}

PyObject *
fd_columns_join(PyObject *columns, PyObject *more)
{
    if (columns == NULL || more == NULL || PyDict_Update(columns, more) < 0) {
        Py_CLEAR(columns);
    }
    Py_XDECREF(more);
    return columns;
}

PyObject *
fd_trace_texts(const fd_trace *trace, uint32_t count,
               void (*write)(const fd_trace *, uint32_t, fd_buffer *))
{
    PyObject *list = PyList_New(count > 0 ? (Py_ssize_t)count - 1 : 0);
    fd_buffer text = {.bytes = NULL};
    for (uint32_t i = 1; list != NULL && i < count; i++) {
        text.size = 0;
        write(trace, i, &text);
        PyObject *object = text.status == FD_OK
                             ? decode_text(text.bytes, text.size)
                             : PyErr_NoMemory();
        if (object == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i - 1, object);
    }
    fd_buffer_clear(&text);
    return list;
}
