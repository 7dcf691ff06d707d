#include "capture/instances.h"

#include "capture/classes.h"
#include "capture/parameters.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_INSTANCES = 64 * 1024,
    MAX_NAME = 512,
    MAX_DEPTH = 32, /* of containers between two forwards */
    MAX_VISITS = 100000,
    MAX_ENCLOSING = 64
};

typedef struct search {
    PyObject *wanted; /* borrowed */
    int visits;
    char name[MAX_NAME];
} search;

void
fd_instances_clear(fd_instances *instances)
{
    for (uint32_t i = 1; i < instances->known.count; i++) {
        Py_CLEAR(instances->known.list[i].reference);
    }
    fd_vector_clear(&instances->known);
    fd_map_clear(&instances->by_address);
    fd_map_clear(&instances->by_module);
}

/* Depth first through containers; appends the path to s->name. */
static bool
find_below(search *s, PyObject *module, size_t used, int depth)
{
    PyObject *children = NULL;
    if (depth < MAX_DEPTH && s->visits++ < MAX_VISITS) {
        children = fd_module_dict(module, "_modules");
    }
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *child;
    while (children != NULL && PyDict_Next(children, &at, &key, &child)) {
        const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        if (text == NULL) {
            PyErr_Clear();
            continue;
        }
        int size = snprintf(s->name + used, sizeof s->name - used, "%s%s",
                            used > 0 ? "." : "", text);
        if (size < 0 || used + (size_t)size >= sizeof s->name) {
            continue;
        }
        if (child == s->wanted
            || (child != Py_None
                && find_below(s, child, used + (size_t)size, depth + 1))) {
            return true;
        }
    }
    return false;
}

static PyObject *
object_of(const fd_instance *instance)
{
    return ((const PyWeakReference *)instance->reference)->wr_object;
}

static bool
is_alive(const fd_instance *instance)
{
    return object_of(instance) != Py_None;
}

/* The instance whose forward is the nearest at or above `from`; the search
 * goes on above it. NULL when there is none. */
static PyObject *
enclosing(const fd_instances *instances, const fd_tree *tree,
          const fd_context **from, uint32_t *module)
{
    for (const fd_context *at = *from; at != tree->root;
         at = fd_tree_context(tree, at->parent)) {
        uint32_t entry = at->module == 0
                             ? 0
                             : fd_map_get(&instances->by_module, at->module);
        const fd_instance *known = &instances->known.list[entry];
        if (entry != 0 && known->module == at->module
            && is_alive(known)) {
            *module = at->module;
            *from = fd_tree_context(tree, at->parent);
            return object_of(known);
        }
    }
    return NULL;
}

/* Name it below the nearest enclosing module that holds it, else as a root. */
static uint32_t
name(const fd_instances *instances, fd_tree *tree, PyObject *self)
{
    search s = {.wanted = self};
    const char *class_name = fd_class_name(Py_TYPE(self));
    const fd_context *from = tree->current;
    for (int i = 0; i < MAX_ENCLOSING; i++) {
        uint32_t parent;
        PyObject *holder = enclosing(instances, tree, &from, &parent);
        if (holder == NULL) {
            break;
        }
        if (find_below(&s, holder, 0, 0)) {
            return fd_recording_module(tree->recording, parent, s.name,
                                       class_name);
        }
    }
    return fd_recording_module(tree->recording, 0, class_name, class_name);
}

/* An entry for the object at this address: the one of a dead object that was
 * there before, else a new one; 0 when there is no room. */
static uint32_t
free_entry(fd_instances *instances, const PyObject *self)
{
    uint32_t at = fd_map_get(&instances->by_address, (uintptr_t)self);
    fd_instance none = {NULL, 0};
    while (at == 0 && instances->known.count < MAX_INSTANCES
           && fd_vector_push(&instances->known, none) == FD_OK) {
        at = instances->known.count - 1; /* 0, the unused one, only once */
    }
    return at;
}

static void
remember(fd_instances *instances, PyObject *self, uint32_t module)
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
measure(fd_recording *recording, PyObject *self, uint32_t module)
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
        module = name(instances, tree, self);
        if (module != 0) {
            remember(instances, self, module);
            measure(tree->recording, self, module);
        }
    }
    return module;
}
