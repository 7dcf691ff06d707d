#include "capture/python/monitoring.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The type of callbacks. They are called through the vectorcall slot, because
 * a PyCFunction costs two more calls and a check of the recursion depth. */
PyTypeObject fd_monitored_type = {
    PyVarObject_HEAD_INIT(NULL, 0) /* */
        .tp_name = "fastdispatch.callback",
    .tp_basicsize = sizeof(fd_monitored),
    .tp_vectorcall_offset = offsetof(fd_monitored, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

/* Return an attribute of sys.monitoring as a new reference, or NULL with an
 * exception. */
static PyObject *
attribute_named(const char *name)
{
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */
    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
        return NULL;
    }
    return PyObject_GetAttrString(module, name);
}

/* Call a function of sys.monitoring with the arguments of a tuple. Return 0, or
 * -1 with an exception. */
static int
call_function(const char *name, const char *format, ...)
{
    PyObject *function = attribute_named(name);
    va_list values;
    va_start(values, format);
    PyObject *args = function != NULL ? Py_VaBuildValue(format, values) : NULL;
    va_end(values);
    PyObject *result =
        args != NULL ? PyObject_CallObject(function, args) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Ids in the order in which they are tried: first the one that CPython
 * proposes for optimizers, which no published tool uses, then ids without a
 * proposed use, last the id for profilers. */
static const int ids[] = {5, 4, 3, 2};
enum { IDS = sizeof ids / sizeof *ids };

/* List the owners of the ids: "5: a, 4: b, 3: coverage, 2: cProfile". */
static void
name_owners(char *text, size_t capacity)
{
    size_t used = 0;
    PyObject *get = attribute_named("get_tool");
    for (int i = 0; i < IDS && used < capacity; i++) {
        PyObject *owner =
            get != NULL ? PyObject_CallFunction(get, "i", ids[i]) : NULL;
        const char *name = owner != NULL && PyUnicode_Check(owner)
                             ? PyUnicode_AsUTF8(owner)
                             : NULL;
        int size =
            snprintf(text + used, capacity - used, "%s%d: %.40s",
                     i > 0 ? ", " : "", ids[i], name != NULL ? name : "?");
        used += size > 0 ? (size_t)size : capacity;
        PyErr_Clear();
        Py_XDECREF(owner);
    }
    Py_XDECREF(get);
}

static int
claim_tool(fd_monitoring_use use, fd_error *error)
{
    char owners[256] = "";
    for (int i = 0; i < IDS; i++) {
        if (call_function("use_tool_id", "(is)", ids[i], "fastdispatch")
            == 0) {
            return ids[i];
        }
        PyErr_Clear();
    }
    name_owners(owners, sizeof owners);
    fd_fail(error, FD_ECONFLICT,
            "%s: no tool id of sys.monitoring is free (%s): end one of these"
            " tools, or %s",
            use.option, owners, use.instead);
    return -1;
}

/* Set a callback; None removes it. */
static int
set_callback(int tool, long event, PyObject *callback)
{
    return call_function("register_callback", "(ilO)", tool, event, callback);
}

static int
add_event(int tool, PyObject *names, fd_monitored *monitored)
{
    PyObject *event = PyObject_GetAttrString(names, monitored->event);
    int result = -1;
    if (event != NULL) {
        monitored->bit = PyLong_AsLong(event);
        result = set_callback(tool, monitored->bit, (PyObject *)monitored);
    }
    Py_XDECREF(event);
    return result;
}

static int
set_events(int tool, long events)
{
    return call_function("set_events", "(il)", tool, events);
}

static long
bits_of(const fd_monitored *events, size_t count)
{
    long bits = 0;
    for (size_t i = 0; i < count; i++) {
        bits |= events[i].local ? 0 : events[i].bit;
    }
    return bits;
}

static int
add_all(int tool, fd_monitored *events, size_t count)
{
    PyObject *names = attribute_named("events");
    int result = names == NULL ? -1 : PyType_Ready(&fd_monitored_type);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = add_event(tool, names, &events[i]);
    }
    Py_XDECREF(names);
    return result == 0 ? set_events(tool, bits_of(events, count)) : -1;
}

static void
release_tool(int tool, const fd_monitored *events, size_t count)
{
    set_events(tool, 0);
    PyErr_Clear();
    for (size_t i = 0; i < count; i++) {
        if (events[i].bit != 0) {
            set_callback(tool, events[i].bit, Py_None);
            PyErr_Clear();
        }
    }
    call_function("free_tool_id", "(i)", tool);
    PyErr_Clear();
}

static int
open_tool(fd_monitoring_use use, fd_monitored *events, size_t count,
          fd_error *error)
{
    bool exists = PySys_GetObject("monitoring") != NULL;
    int tool = exists ? claim_tool(use, error) : -1;
    if (tool < 0 || add_all(tool, events, count) == 0) {
        return tool;
    }
    PyErr_Clear();
    release_tool(tool, events, count);
    fd_fail(error, FD_ECONFLICT,
            "%s: sys.monitoring rejected the callbacks: %s", use.option,
            use.instead);
    return -1;
}

int
fd_monitoring_open(fd_monitoring_use use, fd_monitored *events, size_t count,
                   fd_error *error)
{
    PyObject *pending = fd_take_exception();
    fd_fail(error, FD_EINVAL, "%s needs Python 3.12 or later: %s", use.option,
            use.instead);
    int tool = open_tool(use, events, count, error);
    fd_put_exception(pending);
    return tool;
}

PyObject *
fd_monitoring_constant(const char *name)
{
    PyObject *pending = fd_take_exception();
    PyObject *found = attribute_named(name);
    Py_XDECREF(found); /* the module keeps a reference */
    fd_put_exception(pending);
    return found;
}

bool
fd_monitoring_switch(int tool, const fd_monitored *events, size_t count,
                     bool on)
{
    PyObject *pending = fd_take_exception();
    bool switched = set_events(tool, on ? bits_of(events, count) : 0) == 0;
    fd_put_exception(pending);
    return switched;
}

void
fd_monitoring_restart(void)
{
    PyObject *pending = fd_take_exception();
    call_function("restart_events", "()");
    fd_put_exception(pending);
}

void
fd_monitoring_close(int *tool, const fd_monitored *events, size_t count)
{
    if (*tool < 0) {
        return;
    }
    PyObject *pending = fd_take_exception();
    release_tool(*tool, events, count);
    *tool = -1;
    fd_put_exception(pending);
}

int
fd_monitoring_set_local(int tool, PyCodeObject *code, long events)
{
    return call_function("set_local_events", "(iOl)", tool, code, events);
}
