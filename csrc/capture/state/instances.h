/* The nn.Module instances of forward calls. An instance is named at its first
 * call: its path below the module whose forward encloses the call. The table
 * has weak references, so that it keeps no object alive and does not confuse
 * an instance with a later object at the same address. Requires the GIL. */
#ifndef FD_INSTANCES_H
#define FD_INSTANCES_H

#include "capture/python/object_ids.h"
#include "capture/state/module_finder.h"

#include "recording/context_tree.h"

typedef struct fd_instances {
    fd_object_ids objects; /* with the id of the module in the recording */
    fd_map by_module;      /* id of a module -> id of its latest object */
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
    uint32_t id = fd_objects_known(&instances->objects, self);
    return id != 0 ? fd_objects_at(&instances->objects, id)->value : 0;
}

#endif
