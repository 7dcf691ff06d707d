#include "capture/python/classes.h"

#include <string.h>

enum { PROBES = 4 }; /* slots examined for reuse per new class */

/* The reference of class 0; it is not created by Python and refers to
 * nothing. */
static PyWeakReference no_class;

int
fd_classes_init(fd_classes *classes)
{
    fd_class none = {(PyObject *)&no_class, 0, false};
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

/* Compare names, so that PyTorch need not be imported. */
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

static bool
is_dead(const fd_class *known)
{
    const PyWeakReference *reference =
        (const PyWeakReference *)known->reference;
    return reference->wr_object == Py_None;
}

/* Return the id of the next class in this slot, or 0 after the last
 * generation. */
static uint32_t
next_id(uint32_t id)
{
    return id <= UINT32_MAX - FD_CLASS_SLOTS ? id + FD_CLASS_SLOTS : 0;
}

/* Return one of the next few slots if its class is dead, else 0. Examining a
 * few is enough: the table then grows only while most classes are alive. */
static uint32_t
abandoned_slot(fd_classes *classes)
{
    uint32_t count = classes->known.count;
    for (int i = 0; i < PROBES && count > 1; i++) {
        classes->hand = classes->hand + 1 < count ? classes->hand + 1 : 1;
        const fd_class *at = &classes->known.list[classes->hand];
        if (is_dead(at) && next_id(at->id) != 0) {
            return classes->hand;
        }
    }
    return 0;
}

/* Return a slot for a new class and set `id` to its id there. Return 0 if
 * there is no space. */
static uint32_t
index_of(fd_classes *classes, uint32_t *id)
{
    uint32_t slot = abandoned_slot(classes);
    if (slot != 0) {
        *id = next_id(classes->known.list[slot].id);
        return slot;
    }
    *id = classes->known.count;
    return *id < FD_CLASS_SLOTS
                && fd_vector_reserve(&classes->known, 1) == FD_OK
             ? *id
             : 0;
}

uint32_t
fd_classes_known(const fd_classes *classes, const PyTypeObject *type)
{
    uint32_t id =
        type == NULL ? 0 : fd_map_get(&classes->by_type, (uintptr_t)type);
    return id != 0 && fd_classes_is(classes, id, type) ? id : 0;
}

/* Add a class. Runs no code of the program, because the reference already
 * exists. */
static uint32_t
enter_class(fd_classes *classes, PyTypeObject *type, PyObject *reference)
{
    uint32_t id = 0;
    uint32_t slot = index_of(classes, &id);
    if (slot == 0
        || fd_map_put(&classes->by_type, (uintptr_t)type, id) != FD_OK) {
        Py_DECREF(reference);
        return 0;
    }
    fd_class *at = &classes->known.list[slot];
    PyObject *before = slot < classes->known.count ? at->reference : NULL;
    classes->known.count += slot == classes->known.count;
    *at = (fd_class){reference, id, inherits_module(type)};
    Py_XDECREF(before);
    return id;
}

uint32_t
fd_classes_add(fd_classes *classes, PyTypeObject *type)
{
    uint32_t id = fd_classes_known(classes, type);
    if (id != 0) {
        return id;
    }
    PyObject *reference = PyWeakref_NewRef((PyObject *)type, NULL);
    if (reference == NULL) {
        PyErr_Clear();
        return 0;
    }
    /* A collection may have added it in between. */
    id = fd_classes_known(classes, type);
    if (id != 0) {
        Py_DECREF(reference);
        return id;
    }
    return enter_class(classes, type, reference);
}
