/* Ids of objects of the program: classes, module instances, optimizers. The id
 * of an object is never reused:
 *
 *     id   │ generation │ slot │        slot 0: no object
 *            12 bits      20 bits
 *
 * The tables only have weak references: a local class with a method that closes
 * over a model must not keep the model alive. The slot of a dead object is
 * reused with the next generation, so that the table stays small if the
 * program keeps creating objects. Ids of earlier generations, which contexts
 * may still contain, match no object. A slot that has used all generations
 * stays empty. Requires the GIL. */
#ifndef FD_OBJECT_IDS_H
#define FD_OBJECT_IDS_H

#include "capture/python/pyframe.h"

#include "base/map.h"
#include "base/vector.h"

#include <stdint.h>

enum { FD_OBJECT_SLOT_BITS = 20, FD_OBJECT_SLOTS = 1 << FD_OBJECT_SLOT_BITS };

typedef struct fd_object {
    PyObject *reference; /* owned weak reference */
    uint32_t id;
    uint32_t value; /* of the owner of the table; 0 for a new object */
} fd_object;

typedef struct fd_object_ids {
    FD_VECTOR(fd_object) known; /* indexed by slot */
    fd_map by_address;          /* address -> id of its latest object */
    uint32_t hand;              /* last slot examined for reuse */
} fd_object_ids;

/* Add slot 0. Return false if there is no memory. */
bool fd_objects_init(fd_object_ids *ids);
void fd_objects_clear(fd_object_ids *ids);

/* Return the id of an object; add it if it is new. Return 0 if there is no
 * space, or if it has no weak references. Keeps a pending exception. */
uint32_t fd_objects_add(fd_object_ids *ids, PyObject *object);

/* fd_objects_add for a class, whose value is 1 for a subclass of
 * torch.nn.Module. */
uint32_t fd_objects_add_class(fd_object_ids *ids, PyTypeObject *type);

static inline fd_object *
fd_objects_at(const fd_object_ids *ids, uint32_t id)
{
    return &ids->known.list[id & (FD_OBJECT_SLOTS - 1)];
}

/* Return whether `id` is that of this object, and the object is alive; NULL is
 * object 0. */
static inline bool
fd_objects_is(const fd_object_ids *ids, uint32_t id, const void *object)
{
    const fd_object *at = fd_objects_at(ids, id);
    const PyWeakReference *reference = (const PyWeakReference *)at->reference;
    return reference->wr_object == object && at->id == id;
}

/* Return the id of an object, or 0 if it is NULL or was not added. */
static inline uint32_t
fd_objects_known(const fd_object_ids *ids, const void *object)
{
    uint32_t id =
        object == NULL ? 0 : fd_map_get(&ids->by_address, (uintptr_t)object);
    return id != 0 && fd_objects_is(ids, id, object) ? id : 0;
}

/* Return the last part of the class's name: "OrderedDict". */
const char *fd_class_name(const PyTypeObject *type);

#endif
