/* Every class that was ever the runtime class of a call, by a number that is
 * never used for another class. Classes are held by weak references only: a
 * local class whose method closes over a model must not keep it alive, and an
 * address that is used again must not be mistaken for the old class. Needs
 * the GIL. */
#ifndef FD_CLASSES_H
#define FD_CLASSES_H

#include "capture/pyframe.h"

#include "base/map.h"
#include "base/vector.h"

typedef struct fd_class {
    PyObject *reference; /* owned weak reference */
    bool is_module;      /* a subclass of torch.nn.Module */
} fd_class;

typedef struct fd_classes {
    FD_VECTOR(fd_class) known; /* entry 0 stands for "no class" */
    fd_map by_type; /* type address -> id of the class last seen there */
} fd_classes;

/* -1 with MemoryError. */
int fd_classes_init(fd_classes *classes);

/* The id of a class, added when new; 0 when there is no room. Keeps a pending
 * exception. */
uint32_t fd_classes_add(fd_classes *classes, PyTypeObject *type);

/* Whether class `id` is this very type object and alive; NULL is class 0. */
static inline bool
fd_classes_is(const fd_classes *classes, uint32_t id, const PyTypeObject *type)
{
    const PyWeakReference *reference
        = (const PyWeakReference *)classes->known.list[id].reference;
    return reference->wr_object == (const PyObject *)type;
}

/* The last part of the class's name: "OrderedDict". */
const char *fd_class_name(const PyTypeObject *type);

#endif
