#include "capture/state/instances.h"

#include "capture/python/classes.h"
#include "capture/state/parameters.h"

enum {
    MAX_INSTANCES = 256 * 1024, /* maximum live instances */
    PROBES = 4, /* entries examined for reuse per new instance */
    MAX_ENCLOSING = 64
};

void
fd_instances_clear(fd_instances *instances)
{
    for (uint32_t i = 1; i < instances->known.count; i++) {
        Py_CLEAR(instances->known.list[i].reference);
    }
    fd_vector_clear(&instances->known);
    fd_map_clear(&instances->by_address);
    fd_map_clear(&instances->by_module);
    fd_finder_clear(&instances->finder);
}

static PyObject *
object_of(const fd_instance *instance)
{
    const PyWeakReference *reference =
        (const PyWeakReference *)instance->reference;
    return reference != NULL ? reference->wr_object : Py_None;
}

static bool
is_alive(const fd_instance *instance)
{
    return object_of(instance) != Py_None;
}

/* Return the instance of the nearest forward at or above `from`, or NULL. Set
 * `from` to continue the search above it. */
static PyObject *
enclosing_instance(const fd_instances *instances, const fd_tree *tree,
                   const fd_context **from, uint32_t *module)
{
    for (const fd_context *at = *from; at != tree->root;
         at = fd_tree_context(tree, at->parent)) {
        uint32_t entry = at->module == 0
                           ? 0
                           : fd_map_get(&instances->by_module, at->module);
        const fd_instance *known = &instances->known.list[entry];
        if (entry != 0 && known->module == at->module && is_alive(known)) {
            *module = at->module;
            *from = fd_tree_context(tree, at->parent);
            return object_of(known);
        }
    }
    return NULL;
}

/* Name an instance below the nearest enclosing module that contains it, else
 * as a root. */
static uint32_t
name_instance(fd_instances *instances, fd_tree *tree, PyObject *self)
{
    char path[FD_FINDER_PATH];
    const char *class_name = fd_class_name(Py_TYPE(self));
    const fd_context *from = tree->current;
    bool sought = true;
    for (int i = 0; i < MAX_ENCLOSING; i++) {
        uint32_t parent;
        PyObject *holder = enclosing_instance(instances, tree, &from, &parent);
        if (holder == NULL) {
            break;
        }
        Py_INCREF(holder);
        fd_finding finding =
            fd_finder_path(&instances->finder, holder, self, path);
        Py_DECREF(holder);
        if (finding == FD_FOUND) {
            return fd_recording_module(tree->recording, parent, path,
                                       class_name);
        }
        sought = sought && finding == FD_NOT_BELOW;
    }
    if (!sought) {
        fd_file_count(&tree->recording->file, FD_COUNT_MODULES_FULL);
    }
    return fd_recording_module(tree->recording, 0, class_name, class_name);
}

/* Return the entry of a dead instance: the one at this address or one of the
 * next few, or 0. */
static uint32_t
abandoned_entry(fd_instances *instances, const PyObject *self)
{
    uint32_t at = fd_map_get(&instances->by_address, (uintptr_t)self);
    uint32_t count = instances->known.count;
    if (at != 0 && !is_alive(&instances->known.list[at])) {
        return at;
    }
    for (int i = 0; i < PROBES && count > 1; i++) {
        instances->hand =
            instances->hand + 1 < count ? instances->hand + 1 : 1;
        if (!is_alive(&instances->known.list[instances->hand])) {
            return instances->hand;
        }
    }
    return 0;
}

/* Return an entry for a new instance, or 0 if there is no space. */
static uint32_t
free_entry(fd_instances *instances, const PyObject *self)
{
    uint32_t at = abandoned_entry(instances, self);
    fd_instance none = {NULL, 0};
    while (at == 0 && instances->known.count < MAX_INSTANCES
           && fd_vector_push(&instances->known, none) == FD_OK) {
        at = instances->known.count - 1; /* skip the unused entry 0 */
    }
    return at;
}

static void
remember_instance(fd_instances *instances, PyObject *self, uint32_t module)
{
    PyObject *reference = PyWeakref_NewRef(self, NULL);
    uint32_t at = reference != NULL ? free_entry(instances, self) : 0;
    if (at == 0
        || fd_map_put(&instances->by_address, (uintptr_t)self, at) != FD_OK
        || fd_map_put(&instances->by_module, module, at) != FD_OK) {
        PyErr_Clear();
        Py_XDECREF(reference);
        return;
    }
    Py_XSETREF(instances->known.list[at].reference, reference);
    instances->known.list[at].module = module;
}

static void
measure_parameters(fd_recording *recording, PyObject *self, uint32_t module)
{
    fd_parameters found = fd_parameters_of(self);
    if (found.elements > 0) {
        fd_recording_measure(recording, module, found.elements, found.bytes);
    }
}

uint32_t
fd_instances_module(fd_instances *instances, fd_tree *tree, PyObject *self)
{
    uint32_t module = fd_instances_known(instances, self);
    if (module == 0) {
        module = name_instance(instances, tree, self);
        if (module != 0) {
            remember_instance(instances, self, module);
            measure_parameters(tree->recording, self, module);
        }
    }
    return module;
}
