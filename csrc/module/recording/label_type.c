/* fastdispatch._core.label: a named range of the program. */
#include "capture/frames/python_calls.h"
#include "capture/operators/ranges.h"
#include "capture/python/utf8_text.h"
#include "module/state.h"
#include "recording/open_entries.h"

typedef struct label_object {
    PyObject_HEAD PyObject *name; /* owned str */
} label_object;

static PyObject *
label_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", NULL};
    PyObject *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U:label", names, &name)) {
        return NULL;
    }
    PyObject *text = fd_utf8_text(name);
    label_object *self =
        text == NULL ? NULL : (label_object *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->name = text;
        return (PyObject *)self;
    }
    Py_XDECREF(text);
    return NULL;
}

static void
label_dealloc(PyObject *self)
{
    Py_XDECREF(((label_object *)self)->name);
    fd_object_free(self);
}

static PyObject *
label_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_thread *thread = fd_calls_ready();
    if (thread != NULL) {
        const char *name = PyUnicode_AsUTF8(((label_object *)self)->name);
        fd_range_start(thread, name, self, thread->session->timed);
    }
    return Py_NewRef(self);
}

static PyObject *
label_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    fd_thread *thread = fd_calls_ready();
    int64_t at = thread == NULL
                   ? -1
                   : fd_stack_find(thread->tree, self, FD_ENTRY_RANGE);
    if (at >= 0) {
        fd_range_end(thread, (uint32_t)at, thread->session->timed);
    }
    Py_RETURN_NONE;
}

/* label(name)(function): the wrapper is written in Python, so that it supports
 * coroutines. */
static PyObject *
label_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", NULL};
    PyObject *function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:label", names,
                                     &function)) {
        return NULL;
    }
    PyObject *module = PyImport_ImportModule("fastdispatch.record.decorators");
    PyObject *result =
        module == NULL
            ? NULL
            : PyObject_CallMethod(module, "labelled", "OO",
                                  ((label_object *)self)->name, function);
    Py_XDECREF(module);
    return result;
}

static PyMethodDef methods[] = {
    {"__enter__", label_enter, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nThe range begins.")},
    {"__exit__", (PyCFunction)(void (*)(void))label_exit, METH_FASTCALL,
     PyDoc_STR("__exit__($self, /, *unused)\n--\n\nThe range ends.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "label(name)\n--\n\n"
     "A context manager, or a decorator of a function: calls inside are\n"
     "recorded below a range of this name. Costs one function call when\n"
     "nothing records."},
    {Py_tp_new, label_new},
    {Py_tp_dealloc, label_dealloc},
    {Py_tp_call, label_call},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_label_spec = FD_TYPE("label", label_object, slots);
