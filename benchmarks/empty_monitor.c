/* Minimum cost of a callback of sys.monitoring (PEP 669): a callable that is
 * called through its vectorcall slot and does nothing, or only reads the
 * clock. Compiled and called by benchmarks/peers.py with the GIL held. */
#include <Python.h>
#include <stddef.h>

#include "ticks.h"

typedef struct nothing {
    PyObject_HEAD vectorcallfunc call;
} nothing;

static PyObject *
do_nothing(PyObject *self, PyObject *const *args, size_t count,
           PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    Py_RETURN_NONE;
}

static PyObject *
read_clock(PyObject *self, PyObject *const *args, size_t count,
           PyObject *names)
{
    charge();
    return do_nothing(self, args, count, names);
}

static PyTypeObject type = {
    .tp_name = "nothing",
    .tp_basicsize = sizeof(nothing),
    .tp_vectorcall_offset = offsetof(nothing, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

PyObject *
callback(int clock)
{
    if (PyType_Ready(&type) < 0) {
        return NULL;
    }
    nothing *object = PyObject_New(nothing, &type);
    if (object != NULL) {
        object->call = clock ? read_clock : do_nothing;
    }
    return (PyObject *)object;
}
