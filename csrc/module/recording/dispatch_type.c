/* fastdispatch._core.DispatchMode: the object on PyTorch's stack of modes. */
#include "capture/operators/dispatch.h"
#include "capture/torch/libtorch.h"
#include "module/state.h"

typedef struct dispatch_object {
    PyObject_HEAD fd_dispatch dispatch;
} dispatch_object;

static fd_dispatch *
dispatch_of(PyObject *self)
{
    return &((dispatch_object *)self)->dispatch;
}

static PyObject *
dispatch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":DispatchMode", names)) {
        return NULL;
    }
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    if (fd_dispatch_init(dispatch_of(self)) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    fd_libtorch_find(NULL); /* if this fails, backward time has no origin */
    return self;
}

static int
dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return fd_dispatch_traverse(dispatch_of(self), visit, arg);
}

static int
dispatch_clear(PyObject *self)
{
    fd_dispatch_clear(dispatch_of(self));
    return 0;
}

static void
dispatch_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    fd_dispatch_clear(dispatch_of(self));
    fd_object_free(self);
}

/* __torch_dispatch__(func, types, args=(), kwargs=None) */
static PyObject *
torch_dispatch(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *positional = count > 2 ? Py_NewRef(args[2]) : PyTuple_New(0);
    if (count < 2 || count > 4 || positional == NULL
        || !PyTuple_Check(positional)) {
        Py_XDECREF(positional);
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError,
                            "__torch_dispatch__(func, types, args, kwargs)");
        }
        return NULL;
    }
    PyObject *result = fd_dispatch_call(dispatch_of(self), args[0], positional,
                                        count > 3 ? args[3] : Py_None);
    Py_DECREF(positional);
    return result;
}

static PyObject *
answer_false(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *
answer_true(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_TRUE;
}

static PyObject *
get_true(PyObject *self, void *closure)
{
    (void)closure;
    return answer_true(self, NULL);
}

static PyObject *
get_none(PyObject *self, void *closure)
{
    (void)self;
    (void)closure;
    Py_RETURN_NONE;
}

static PyObject *
get_calls(PyObject *self, void *closure)
{
    (void)closure;
    const fd_dispatch *dispatch = dispatch_of(self);
    PyObject *calls = PyDict_New();
    for (uint32_t i = 0; calls != NULL && i < dispatch->list.count; i++) {
        const fd_dispatched *known = dispatch->list.list[i];
        PyObject *before = PyDict_GetItemWithError(calls, known->name);
        PyObject *sum =
            PyErr_Occurred()
                ? NULL
                : PyLong_FromUnsignedLongLong(
                    known->calls
                    + (before != NULL ? PyLong_AsUnsignedLongLong(before)
                                      : 0));
        if (sum == NULL || PyDict_SetItem(calls, known->name, sum) < 0) {
            Py_CLEAR(calls);
        }
        Py_XDECREF(sum);
    }
    return calls;
}

static PyMethodDef methods[] = {
    {"__torch_dispatch__", (PyCFunction)(void (*)(void))torch_dispatch,
     METH_FASTCALL,
     PyDoc_STR("__torch_dispatch__($self, func, types, args=(), kwargs=None, "
               "/)\n--\n\nCalled by PyTorch for every operator.")},
    {"is_infra_mode", answer_false, METH_NOARGS,
     PyDoc_STR("is_infra_mode($self, /)\n--\n\n"
               "False: a mode of the user's, as PyTorch sees it.")},
    {"ignore_compile_internals", answer_true, METH_NOARGS,
     PyDoc_STR("ignore_compile_internals($self, /)\n--\n\n"
               "True: compiled code stays compiled under this mode.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"supports_higher_order_operators", get_true, NULL,
     PyDoc_STR("True: they are run as any other."), NULL},
    {"_dispatch_key", get_none, NULL, PyDoc_STR("None: no infra mode."), NULL},
    {"calls", get_calls, NULL,
     PyDoc_STR("Calls of each operator so far, by name."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "DispatchMode()\n--\n\n"
                "The object on PyTorch's stack of dispatch modes."},
    {Py_tp_new, dispatch_new},
    {Py_tp_traverse, dispatch_traverse},
    {Py_tp_clear, dispatch_clear},
    {Py_tp_dealloc, dispatch_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec fd_dispatch_spec = {
    .name = "fastdispatch._core.DispatchMode",
    .basicsize = sizeof(dispatch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
