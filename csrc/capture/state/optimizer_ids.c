#include <Python.h>

#include "capture/state/optimizer_ids.h"

#include <stdbool.h>

enum { MOST_IDS = 1 << 16 };

void
fd_optimizer_ids_clear(fd_optimizer_ids *ids)
{
    for (uint32_t i = 0; i < ids->references.count; i++) {
        Py_CLEAR(ids->references.list[i]);
    }
    fd_vector_clear(&ids->references);
    fd_map_clear(&ids->by_address);
}

/* Return whether the optimizer of a number still exists at this address. */
static bool
is_number_of(const fd_optimizer_ids *ids, uint32_t number,
             const PyObject *optimizer)
{
    const PyWeakReference *reference =
        number == 0
            ? NULL
            : (const PyWeakReference *)ids->references.list[number - 1];
    return reference != NULL && reference->wr_object == optimizer;
}

uint64_t
fd_optimizer_id(fd_optimizer_ids *ids, PyObject *optimizer)
{
    uint64_t address = (uintptr_t)optimizer;
    uint32_t number = fd_map_get(&ids->by_address, address);
    if (is_number_of(ids, number, optimizer)) {
        return number;
    }
    PyObject *reference = ids->references.count < MOST_IDS
                            ? PyWeakref_NewRef(optimizer, NULL)
                            : NULL;
    if (reference == NULL
        || fd_vector_push(&ids->references, reference) != FD_OK) {
        PyErr_Clear();
        Py_XDECREF(reference);
        return address;
    }
    number = ids->references.count;
    return fd_map_put(&ids->by_address, address, number) == FD_OK ? number
                                                                  : address;
}
