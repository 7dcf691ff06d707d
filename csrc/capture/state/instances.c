#include "capture/state/instances.h"

#include "capture/state/parameters.h"

enum { MAX_ENCLOSING = 64 };

void
fd_instances_clear(fd_instances *instances)
{
    fd_objects_clear(&instances->objects);
    fd_map_clear(&instances->by_module);
    fd_finder_clear(&instances->finder);
}

/* Return the live instance with this id and module, or NULL. */
static PyObject *
object_of(const fd_instances *instances, uint32_t id, uint32_t module)
{
    if (id == 0) {
        return NULL;
    }
    const fd_object *known = fd_objects_at(&instances->objects, id);
    PyObject *object = ((const PyWeakReference *)known->reference)->wr_object;
    return known->id == id && known->value == module && object != Py_None
             ? object
             : NULL;
}

/* Return the instance of the nearest forward at or above `from`, or NULL. Set
 * `from` to continue the search above it. */
static PyObject *
enclosing_instance(const fd_instances *instances, const fd_tree *tree,
                   const fd_context **from, uint32_t *module)
{
    for (const fd_context *at = *from; at != tree->root;
         at = fd_tree_context(tree, at->parent)) {
        uint32_t id = at->module == 0
                        ? 0
                        : fd_map_get(&instances->by_module, at->module);
        PyObject *found = object_of(instances, id, at->module);
        if (found != NULL) {
            *module = at->module;
            *from = fd_tree_context(tree, at->parent);
            return found;
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

static void
remember_instance(fd_instances *instances, PyObject *self, uint32_t module)
{
    uint32_t id = fd_objects_add(&instances->objects, self);
    if (id != 0 && fd_map_put(&instances->by_module, module, id) == FD_OK) {
        fd_objects_at(&instances->objects, id)->value = module;
    }
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
