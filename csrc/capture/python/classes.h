/* The runtime classes of calls. The id of a class is never reused:
 *
 *     id   │ generation │ slot │        slot 0: no class
 *            12 bits      20 bits
 *
 * The table only has weak references: a local class with a method that closes
 * over a model must not keep the model alive. The slot of a dead class is
 * reused with the next generation, so that the table stays small if the
 * program keeps creating classes. Ids of earlier generations, which contexts
 * may still contain, match no class. A slot that has used all generations
 * stays empty. Requires the GIL. */
#ifndef FD_CLASSES_H
#define FD_CLASSES_H

#include "capture/python/pyframe.h"

#include "base/map.h"
#include "base/vector.h"

enum { FD_CLASS_SLOT_BITS = 20, FD_CLASS_SLOTS = 1 << FD_CLASS_SLOT_BITS };

typedef struct fd_class {
    PyObject *reference; /* owned weak reference */
    uint32_t id;
    bool is_module; /* a subclass of torch.nn.Module */
} fd_class;

typedef struct fd_classes {
    FD_VECTOR(fd_class) known; /* indexed by slot */
    fd_map by_type;            /* type address -> id of its latest class */
    uint32_t hand;             /* last slot examined for reuse */
} fd_classes;

/* Return -1 with MemoryError on failure. */
int fd_classes_init(fd_classes *classes);

/* Return the id of a class; add it if it is new. Return 0 if there is no
 * space. Keeps a pending exception. */
uint32_t fd_classes_add(fd_classes *classes, PyTypeObject *type);

static inline const fd_class *
fd_classes_at(const fd_classes *classes, uint32_t id)
{
    return &classes->known.list[id & (FD_CLASS_SLOTS - 1)];
}

/* Return whether class `id` is this type object, and alive; NULL is class
 * 0. */
static inline bool
fd_classes_is(const fd_classes *classes, uint32_t id, const PyTypeObject *type)
{
    const fd_class *at = fd_classes_at(classes, id);
    const PyWeakReference *reference = (const PyWeakReference *)at->reference;
    return reference->wr_object == (const PyObject *)type && at->id == id;
}

/* Return the id of a class, or 0 if it is NULL or was not added. */
uint32_t fd_classes_known(const fd_classes *classes, const PyTypeObject *type);

/* Return the last part of the class's name: "OrderedDict". */
const char *fd_class_name(const PyTypeObject *type);

#endif
