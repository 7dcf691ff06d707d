/* The nn.Module instances of forward calls. An instance is named at its first
 * call: its path below the module whose forward encloses the call. The table
 * has weak references, so that it keeps no object alive and does not confuse
 * an instance with a later object at the same address. Requires the GIL. */
#ifndef FD_INSTANCES_H
#define FD_INSTANCES_H

#include "capture/state/module_finder.h"

#include "base/vector.h"
#include "recording/context_tree.h"

typedef struct fd_instance {
    PyObject *reference; /* owned weak reference */
    uint32_t module;     /* id in the recording */
} fd_instance;

typedef struct fd_instances {
    FD_VECTOR(fd_instance) known; /* entry 0 unused */
    fd_map by_address;            /* object address -> latest entry for it */
    fd_map by_module;             /* module id -> latest entry for it */
    uint32_t hand;                /* last entry examined for reuse */
    fd_finder finder;
} fd_instances;

void fd_instances_clear(fd_instances *instances);

/* Return the module id of `self`, whose forward is called from the current
 * context of the tree, or 0 if there is no space. Keeps a pending
 * exception. */
uint32_t fd_instances_module(fd_instances *instances, fd_tree *tree,
                             PyObject *self);

/* Return the id of a known instance, or 0. */
static inline uint32_t
fd_instances_known(const fd_instances *instances, const PyObject *self)
{
    uint32_t at = fd_map_get(&instances->by_address, (uintptr_t)self);
    const PyWeakReference *reference =
        at == 0 ? NULL
                : (const PyWeakReference *)instances->known.list[at].reference;
    return reference != NULL && reference->wr_object == self
             ? instances->known.list[at].module
             : 0;
}

#endif
