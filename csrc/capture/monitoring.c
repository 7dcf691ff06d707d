#include "capture/monitoring.h"

/* sys.monitoring; NULL with an exception. */
static PyObject *
monitoring(void)
{
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */
    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
    }
    return module;
}

static int
done(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* First the id that CPython proposes for optimizers and that no published tool
 * uses, then those without a proposed use, at last the profiler's. */
static int
claim_tool(PyObject *module)
{
    static const int ids[] = {5, 4, 3, 2};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (done(PyObject_CallMethod(module, "use_tool_id", "is", ids[i],
                                     "fastdispatch")) == 0) {
            return ids[i];
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "no free sys.monitoring tool id: use calls='frame'");
    return -1;
}

/* `callback` may be None: nothing is called any more. */
static int
set_callback(PyObject *module, int tool, long event, PyObject *callback)
{
    return done(PyObject_CallMethod(module, "register_callback", "ilO", tool,
                                    event, callback));
}

static int
add(PyObject *module, int tool, PyObject *names, fd_monitored *monitored)
{
    PyObject *event = PyObject_GetAttrString(names, monitored->event);
    PyObject *callback = PyCFunction_New(monitored->callback, NULL);
    int result = -1;
    if (event != NULL && callback != NULL) {
        monitored->bit = PyLong_AsLong(event);
        result = set_callback(module, tool, monitored->bit, callback);
    }
    Py_XDECREF(event);
    Py_XDECREF(callback);
    return result;
}

static int
set_events(PyObject *module, int tool, long events)
{
    return done(PyObject_CallMethod(module, "set_events", "il", tool, events));
}

static int
add_all(PyObject *module, int tool, fd_monitored *events, size_t count)
{
    PyObject *names = PyObject_GetAttrString(module, "events");
    int result = names == NULL ? -1 : 0;
    long everywhere = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = add(module, tool, names, &events[i]);
        everywhere |= events[i].local ? 0 : events[i].bit;
    }
    Py_XDECREF(names);
    return result == 0 ? set_events(module, tool, everywhere) : -1;
}

int
fd_monitoring_open(fd_monitored *events, size_t count)
{
    PyObject *module = monitoring();
    int tool = module == NULL ? -1 : claim_tool(module);
    if (tool < 0 || add_all(module, tool, events, count) == 0) {
        return tool;
    }
    PyErr_Clear();
    fd_monitoring_close(tool, events, count);
    PyErr_SetString(PyExc_RuntimeError,
                    "sys.monitoring refused our callbacks");
    return -1;
}

void
fd_monitoring_close(int tool, const fd_monitored *events, size_t count)
{
    PyObject *module = monitoring();
    if (module == NULL) {
        PyErr_Clear();
        return;
    }
    set_events(module, tool, 0);
    PyErr_Clear();
    for (size_t i = 0; i < count; i++) {
        if (events[i].bit != 0) {
            set_callback(module, tool, events[i].bit, Py_None);
            PyErr_Clear();
        }
    }
    done(PyObject_CallMethod(module, "free_tool_id", "i", tool));
    PyErr_Clear();
}

int
fd_monitoring_set_local(int tool, PyCodeObject *code, long events)
{
    PyObject *module = monitoring();
    return module == NULL
               ? -1
               : done(PyObject_CallMethod(module, "set_local_events", "iOl",
                                          tool, code, events));
}
