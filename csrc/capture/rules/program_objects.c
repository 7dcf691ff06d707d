#include "capture/rules/program_objects.h"

enum { DEEPEST = 3 }; /* maximum nesting of lists */

/* A descriptor of the type may run code, unless it is a slot of CPython; the
 * dict of the instance never does. */
PyObject *
fd_plain_attribute(PyObject *object, PyObject *name)
{
    const PyObject *shared = _PyType_Lookup(Py_TYPE(object), name);
    if (shared != NULL && Py_TYPE(shared)->tp_descr_get != NULL
        && !Py_IS_TYPE(shared, &PyMemberDescr_Type)) {
        return NULL;
    }
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value == NULL) {
        PyErr_Clear();
    }
    return value;
}

PyObject *
fd_plain_dict(PyObject *object, PyObject *name)
{
    PyObject *attributes = PyObject_GenericGetDict(object, NULL);
    PyObject *item = attributes != NULL && PyDict_CheckExact(attributes)
                       ? PyDict_GetItemWithError(attributes, name)
                       : NULL;
    PyErr_Clear();
    Py_XDECREF(attributes); /* the instance keeps a reference */
    return item != NULL && PyDict_Check(item) ? item : NULL;
}

PyObject *
fd_imported_attribute(const char *module, const char *name)
{
    PyObject *key = PyUnicode_FromString(module);
    PyObject *found = key == NULL ? NULL : PyImport_GetModule(key);
    PyObject *value =
        found == NULL ? NULL : PyObject_GetAttrString(found, name);
    Py_XDECREF(key);
    Py_XDECREF(found);
    PyErr_Clear();
    return value;
}

typedef struct counting {
    PyObject *type;  /* torch.Tensor */
    PyObject *bytes; /* "nbytes" */
    PyObject *name;  /* "tensor" */
} counting;

static uint64_t
of_tensor(const counting *c, PyObject *tensor)
{
    PyObject *value = PyObject_GetAttr(tensor, c->bytes);
    unsigned long long bytes = value != NULL && PyLong_CheckExact(value)
                                 ? PyLong_AsUnsignedLongLong(value)
                                 : 0;
    Py_XDECREF(value);
    if (PyErr_Occurred()) { /* a sparse tensor, or an older PyTorch */
        PyErr_Clear();
        return 0;
    }
    return bytes;
}

static uint64_t
count_object(const counting *c, PyObject *object, int depth)
{
    if ((PyObject *)Py_TYPE(object) == c->type) {
        return of_tensor(c, object);
    }
    if (depth == DEEPEST) {
        return 0;
    }
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        uint64_t sum = 0;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
            sum += count_object(c, PySequence_Fast_GET_ITEM(object, i),
                                depth + 1);
        }
        return sum;
    }
    PyObject *inner = depth > 0 ? fd_plain_attribute(object, c->name) : NULL;
    uint64_t bytes = inner != NULL ? count_object(c, inner, DEEPEST) : 0;
    Py_XDECREF(inner);
    return bytes;
}

static void
call_method(PyObject *object, const char *method)
{
    PyObject *none = Py_None;
    bool leaves = strcmp(method, "__exit__") == 0;
    PyObject *result =
        leaves ? PyObject_CallMethod(object, method, "OOO", none, none, none)
               : PyObject_CallMethod(object, method, NULL);
    Py_XDECREF(result);
    PyErr_Clear();
}

uint64_t
fd_tensors_bytes(PyObject *object)
{
    PyObject *type = fd_imported_attribute("torch", "Tensor");
    PyObject *modes =
        type != NULL
            ? fd_imported_attribute("torch._C", "DisableTorchFunction")
            : NULL;
    PyObject *off = modes != NULL ? PyObject_CallNoArgs(modes) : NULL;
    uint64_t bytes = 0;
    PyErr_Clear();
    if (off != NULL) {
        counting c = {type, PyUnicode_InternFromString("nbytes"),
                      PyUnicode_InternFromString("tensor")};
        call_method(off, "__enter__");
        bytes = c.bytes != NULL && c.name != NULL ? count_object(&c, object, 0)
                                                  : 0;
        call_method(off, "__exit__");
        Py_XDECREF(c.name);
        Py_XDECREF(c.bytes);
        PyErr_Clear();
    }
    Py_XDECREF(off);
    Py_XDECREF(modes);
    Py_XDECREF(type);
    return bytes;
}
