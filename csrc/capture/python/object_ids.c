#include "capture/python/object_ids.h"

#include <string.h>

enum { PROBES = 4 }; /* slots examined for reuse per new object */

/* The reference of object 0; it is not created by Python and refers to
 * nothing. */
static PyWeakReference no_object;

bool
fd_objects_init(fd_object_ids *ids)
{
    fd_object none = {(PyObject *)&no_object, 0, 0};
    return ids->known.count > 0 || fd_vector_push(&ids->known, none) == FD_OK;
}

void
fd_objects_clear(fd_object_ids *ids)
{
    for (uint32_t i = 1; i < ids->known.count; i++) {
        Py_CLEAR(ids->known.list[i].reference);
    }
    fd_vector_clear(&ids->known);
    fd_map_clear(&ids->by_address);
}

static bool
is_dead(const fd_object *known)
{
    const PyWeakReference *reference =
        (const PyWeakReference *)known->reference;
    return reference->wr_object == Py_None;
}

/* Return the id of the next object in this slot, or 0 after the last
 * generation. */
static uint32_t
next_id(uint32_t id)
{
    return id <= UINT32_MAX - FD_OBJECT_SLOTS ? id + FD_OBJECT_SLOTS : 0;
}

/* Return one of the next few slots if its object is dead, else 0. Examining a
 * few is enough: the table then grows only while most objects are alive. */
static uint32_t
abandoned_slot(fd_object_ids *ids)
{
    uint32_t count = ids->known.count;
    for (int i = 0; i < PROBES && count > 1; i++) {
        ids->hand = ids->hand + 1 < count ? ids->hand + 1 : 1;
        const fd_object *at = &ids->known.list[ids->hand];
        if (is_dead(at) && next_id(at->id) != 0) {
            return ids->hand;
        }
    }
    return 0;
}

/* Return a slot for a new object and set `id` to its id there. Return 0 if
 * there is no space. */
static uint32_t
index_of(fd_object_ids *ids, uint32_t *id)
{
    uint32_t slot = abandoned_slot(ids);
    if (slot != 0) {
        *id = next_id(ids->known.list[slot].id);
        return slot;
    }
    *id = ids->known.count;
    return *id < FD_OBJECT_SLOTS && fd_vector_reserve(&ids->known, 1) == FD_OK
             ? *id
             : 0;
}

/* Add an object. Runs no code of the program, because the reference already
 * exists. */
static uint32_t
enter_object(fd_object_ids *ids, PyObject *object, PyObject *reference)
{
    uint32_t id = 0;
    uint32_t slot = fd_objects_init(ids) ? index_of(ids, &id) : 0;
    if (slot == 0
        || fd_map_put(&ids->by_address, (uintptr_t)object, id) != FD_OK) {
        Py_DECREF(reference);
        return 0;
    }
    fd_object *at = &ids->known.list[slot];
    PyObject *before = slot < ids->known.count ? at->reference : NULL;
    ids->known.count += slot == ids->known.count;
    *at = (fd_object){reference, id, 0};
    Py_XDECREF(before);
    return id;
}

uint32_t
fd_objects_add(fd_object_ids *ids, PyObject *object)
{
    uint32_t id = fd_objects_known(ids, object);
    if (id != 0) {
        return id;
    }
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (reference == NULL) {
        PyErr_Clear();
        return 0;
    }
    /* A collection may have added it in between. */
    id = fd_objects_known(ids, object);
    if (id != 0) {
        Py_DECREF(reference);
        return id;
    }
    return enter_object(ids, object, reference);
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

uint32_t
fd_objects_add_class(fd_object_ids *ids, PyTypeObject *type)
{
    uint32_t id = fd_objects_known(ids, type);
    if (id == 0) {
        id = fd_objects_add(ids, (PyObject *)type);
        if (id != 0) {
            fd_objects_at(ids, id)->value = inherits_module(type);
        }
    }
    return id;
}
