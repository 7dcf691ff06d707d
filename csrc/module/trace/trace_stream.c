/* Trace.stream: a table as an Arrow stream in a capsule. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "columns/arrow_stream.h"
#include "module/field_tables.h"

static const char capsule_name[] = "arrow_array_stream";

/* Drop the reference to the trace. Consumers release streams on any thread,
 * some at exit. */
static void
drop_trace(void *owner)
{
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)owner);
        PyGILState_Release(state);
    }
}

/* Free a capsule. `release` is NULL if a consumer has taken over the
 * stream. */
static void
free_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream =
        PyCapsule_GetPointer(capsule, capsule_name);
    if (stream->release != NULL) {
        stream->release(stream);
    }
    fd_free(stream);
}

static PyObject *
stream_capsule(PyObject *self, const fd_arrow_table *table)
{
    struct ArrowArrayStream *stream = fd_malloc(sizeof *stream);
    if (stream == NULL
        || fd_arrow_stream(stream, fd_trace_of(self), table, drop_trace, self)
               != FD_OK) {
        fd_free(stream);
        return PyErr_NoMemory();
    }
    Py_INCREF(self);
    PyObject *capsule = PyCapsule_New(stream, capsule_name, free_capsule);
    if (capsule == NULL) {
        stream->release(stream);
        fd_free(stream);
    }
    return capsule;
}

PyObject *
fd_trace_stream(PyObject *self, PyObject *argument)
{
    const char *name = PyUnicode_AsUTF8(argument);
    const fd_arrow_table *table =
        name == NULL ? NULL : fd_arrow_table_of(name);
    if (table == NULL && name != NULL) {
        PyErr_Format(fd_value_error(), "%s: no such table", name);
    }
    return table == NULL ? NULL : stream_capsule(self, table);
}

PyObject *
fd_trace_streams(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && fd_arrow_table_name(i) != NULL; i++) {
        names =
            fd_list_with(names, PyUnicode_FromString(fd_arrow_table_name(i)));
    }
    return names;
}
