#include "capture/classes.h"

#include <string.h>

enum { MAX_CLASSES = 64 * 1024 };

/* The reference of class 0: never created by Python, refers to nothing. */
static PyWeakReference no_class;

int
fd_classes_init(fd_classes *classes)
{
    fd_class none = {(PyObject *)&no_class, false};
    if (fd_vector_push(&classes->known, none) != FD_OK) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

const char *
fd_class_name(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    return dot != NULL ? dot + 1 : type->tp_name;
}

/* Compared by text, so that PyTorch need not be imported. */
static bool
is_torch_module(const PyTypeObject *type)
{
    if (strcmp(type->tp_name, "Module") != 0 || type->tp_dict == NULL) {
        return false;
    }
    PyObject *home = PyDict_GetItemString(type->tp_dict, "__module__");
    return home != NULL && PyUnicode_Check(home)
           && PyUnicode_CompareWithASCIIString(home, "torch.nn.modules.module")
                  == 0;
}

static bool
inherits_module(const PyTypeObject *type)
{
    PyObject *order = type->tp_mro;
    for (Py_ssize_t i = 0; order != NULL && i < PyTuple_GET_SIZE(order); i++) {
        PyObject *base = PyTuple_GET_ITEM(order, i);
        if (PyType_Check(base) && is_torch_module((PyTypeObject *)base)) {
            return true;
        }
    }
    return false;
}

static uint32_t
append(fd_classes *classes, PyTypeObject *type)
{
    uint32_t id = classes->known.count;
    PyObject *reference = id < MAX_CLASSES
                              ? PyWeakref_NewRef((PyObject *)type, NULL)
                              : NULL;
    fd_class made = {reference, inherits_module(type)};
    if (reference == NULL
        || fd_map_put(&classes->by_type, (uintptr_t)type, id) != FD_OK
        || fd_vector_push(&classes->known, made) != FD_OK) {
        PyErr_Clear();
        Py_XDECREF(reference);
        return 0;
    }
    return id;
}

uint32_t
fd_classes_add(fd_classes *classes, PyTypeObject *type)
{
    uint32_t id = fd_map_get(&classes->by_type, (uintptr_t)type);
    bool known = id != 0 && id < classes->known.count
                 && fd_classes_is(classes, id, type);
    return known ? id : append(classes, type);
}
