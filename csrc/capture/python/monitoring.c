#include "capture/python/monitoring.h"

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

/* Return sys.monitoring, or NULL with an exception. */
static PyObject *
sys_monitoring(void)
{
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */
    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
    }
    return module;
}

static int
call_done(PyObject *result)
{
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
name_owners(PyObject *module, char *text, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < IDS && used < capacity; i++) {
        PyObject *owner = PyObject_CallMethod(module, "get_tool", "i", ids[i]);
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
}

static int
claim_tool(PyObject *module, fd_monitoring_use use, fd_error *error)
{
    char owners[256] = "";
    for (int i = 0; i < IDS; i++) {
        if (call_done(PyObject_CallMethod(module, "use_tool_id", "is", ids[i],
                                          "fastdispatch"))
            == 0) {
            return ids[i];
        }
        PyErr_Clear();
    }
    name_owners(module, owners, sizeof owners);
    fd_fail(error, FD_ECONFLICT,
            "%s: no tool id of sys.monitoring is free (%s): end one of these"
            " tools, or %s",
            use.option, owners, use.instead);
    return -1;
}

/* Set a callback; None removes it. */
static int
set_callback(PyObject *module, int tool, long event, PyObject *callback)
{
    return call_done(PyObject_CallMethod(module, "register_callback", "ilO",
                                         tool, event, callback));
}

static int
add_event(PyObject *module, int tool, PyObject *names, fd_monitored *monitored)
{
    PyObject *event = PyObject_GetAttrString(names, monitored->event);
    int result = -1;
    if (event != NULL) {
        monitored->bit = PyLong_AsLong(event);
        result =
            set_callback(module, tool, monitored->bit, (PyObject *)monitored);
    }
    Py_XDECREF(event);
    return result;
}

static int
set_events(PyObject *module, int tool, long events)
{
    return call_done(
        PyObject_CallMethod(module, "set_events", "il", tool, events));
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
add_all(PyObject *module, int tool, fd_monitored *events, size_t count)
{
    PyObject *names = PyObject_GetAttrString(module, "events");
    int result = names == NULL ? -1 : PyType_Ready(&fd_monitored_type);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = add_event(module, tool, names, &events[i]);
    }
    Py_XDECREF(names);
    return result == 0 ? set_events(module, tool, bits_of(events, count)) : -1;
}

static void
release_tool(PyObject *module, int tool, const fd_monitored *events,
             size_t count)
{
    set_events(module, tool, 0);
    PyErr_Clear();
    for (size_t i = 0; i < count; i++) {
        if (events[i].bit != 0) {
            set_callback(module, tool, events[i].bit, Py_None);
            PyErr_Clear();
        }
    }
    call_done(PyObject_CallMethod(module, "free_tool_id", "i", tool));
    PyErr_Clear();
}

static int
open_tool(PyObject *module, fd_monitoring_use use, fd_monitored *events,
          size_t count, fd_error *error)
{
    int tool = module == NULL ? -1 : claim_tool(module, use, error);
    if (tool < 0 || add_all(module, tool, events, count) == 0) {
        return tool;
    }
    PyErr_Clear();
    release_tool(module, tool, events, count);
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
    int tool = open_tool(sys_monitoring(), use, events, count, error);
    fd_put_exception(pending);
    return tool;
}

PyObject *
fd_monitoring_constant(const char *name)
{
    PyObject *pending = fd_take_exception();
    PyObject *module = sys_monitoring();
    PyObject *found =
        module != NULL ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(found); /* the module keeps a reference */
    fd_put_exception(pending);
    return found;
}

bool
fd_monitoring_switch(int tool, const fd_monitored *events, size_t count,
                     bool on)
{
    PyObject *pending = fd_take_exception();
    PyObject *module = sys_monitoring();
    bool switched =
        module != NULL
        && set_events(module, tool, on ? bits_of(events, count) : 0) == 0;
    fd_put_exception(pending);
    return switched;
}

void
fd_monitoring_restart(void)
{
    PyObject *pending = fd_take_exception();
    PyObject *module = sys_monitoring();
    if (module != NULL) {
        call_done(PyObject_CallMethod(module, "restart_events", NULL));
    }
    fd_put_exception(pending);
}

void
fd_monitoring_close(int *tool, const fd_monitored *events, size_t count)
{
    if (*tool < 0) {
        return;
    }
    PyObject *pending = fd_take_exception();
    PyObject *module = sys_monitoring();
    if (module != NULL) {
        release_tool(module, *tool, events, count);
    }
    *tool = -1;
    fd_put_exception(pending);
}

int
fd_monitoring_set_local(int tool, PyCodeObject *code, long events)
{
    PyObject *module = sys_monitoring();
    return module == NULL
             ? -1
             : call_done(PyObject_CallMethod(module, "set_local_events", "iOl",
                                             tool, code, events));
}
