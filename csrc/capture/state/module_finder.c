#include "capture/state/module_finder.h"

#include "capture/python/utf8_text.h"
#include "capture/rules/program_objects.h"

#include <string.h>

enum {
    MAX_VISITS = 100000,   /* maximum visits of one walk */
    FEW = 64,              /* smaller results are not cached */
    MOST_VISITS = 2000000, /* maximum visits of all walks, plus ... */
    VISITS_A_SEARCH = 256  /* ... this number per search */
};

static void
clear_modules(fd_found_modules *modules)
{
    fd_map_clear(&modules->at);
    fd_vector_clear(&modules->list);
    fd_vector_clear(&modules->names);
    *modules = (fd_found_modules){.holder = 0};
}

void
fd_finder_clear(fd_finder *finder)
{
    for (int i = 0; i < FD_FINDER_HOLDERS; i++) {
        clear_modules(&finder->kept[i]);
    }
    clear_modules(&finder->small);
    Py_CLEAR(finder->key);
}

/* Add a module and return its index. Return 0 if it is already known, or if
 * there is no space. */
static uint32_t
add_text(fd_found_modules *modules, const PyObject *module, PyObject *text,
         uint32_t below)
{
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(text, &size);
    uint32_t index = modules->list.count;
    if (name == NULL || size >= FD_FINDER_PATH
        || fd_map_get(&modules->at, (uintptr_t)module) != 0
        || fd_vector_reserve(&modules->list, 1) != FD_OK
        || fd_vector_reserve(&modules->names, (size_t)size + 1) != FD_OK
        || fd_map_put(&modules->at, (uintptr_t)module, index) != FD_OK) {
        PyErr_Clear();
        return 0;
    }
    memcpy(modules->names.list + modules->names.count, name, (size_t)size + 1);
    modules->list.list[index] =
        (fd_found_module){(uintptr_t)module, modules->names.count, below};
    modules->names.count += (uint32_t)size + 1;
    modules->list.count++;
    return index;
}

static uint32_t
add_module(fd_found_modules *modules, const PyObject *module, PyObject *key,
           uint32_t below)
{
    PyObject *text = fd_utf8_text_of(key);
    uint32_t index = text != NULL ? add_text(modules, module, text, below) : 0;
    Py_XDECREF(text);
    return index;
}

/* Walk the modules below a module, depth first. A module that occurs several
 * times gets the first path. */
static void
walk_modules(fd_finder *finder, uint64_t *visits, PyObject *module,
             uint32_t below, int depth)
{
    fd_found_modules *modules = &finder->small;
    PyObject *children = depth < FD_FINDER_DEPTH && *visits < MAX_VISITS
                           ? fd_plain_dict(module, finder->key)
                           : NULL;
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *child;
    Py_XINCREF(children);
    while (children != NULL && *visits < MAX_VISITS
           && PyDict_Next(children, &at, &key, &child)) {
        ++*visits;
        uint32_t index =
            child != Py_None ? add_module(modules, child, key, below) : 0;
        if (index != 0) {
            Py_INCREF(child);
            walk_modules(finder, visits, child, index, depth + 1);
            Py_DECREF(child);
        }
    }
    Py_XDECREF(children);
}

/* Return whether `wanted` is below `module`. Much cheaper than a walk that
 * collects paths. */
static bool
is_below(const fd_finder *finder, uint64_t *visits, PyObject *module,
         const PyObject *wanted, int depth)
{
    PyObject *children = depth < FD_FINDER_DEPTH && *visits < MAX_VISITS
                           ? fd_plain_dict(module, finder->key)
                           : NULL;
    Py_ssize_t at = 0;
    PyObject *child;
    bool found = false;
    Py_XINCREF(children);
    while (children != NULL && !found && *visits < MAX_VISITS
           && PyDict_Next(children, &at, NULL, &child)) {
        ++*visits;
        found = child == wanted;
        if (!found && child != Py_None) {
            Py_INCREF(child);
            found = is_below(finder, visits, child, wanted, depth + 1);
            Py_DECREF(child);
        }
    }
    Py_XDECREF(children);
    return found;
}

/* Append a name to the path. Return false if it becomes too long. */
static bool
append_name(char path[FD_FINDER_PATH], size_t *used, const char *name)
{
    size_t size = strlen(name);
    size_t point = *used > 0;
    if (*used + point + size >= FD_FINDER_PATH) {
        return false;
    }
    if (point != 0) {
        path[(*used)++] = '.';
    }
    memcpy(path + *used, name, size + 1);
    *used += size;
    return true;
}

static bool
is_recorded_as(PyObject *key, const char *name)
{
    PyObject *text = fd_utf8_text_of(key);
    bool same = text != NULL && strcmp(PyUnicode_AsUTF8(text), name) == 0;
    Py_XDECREF(text);
    return same;
}

/* Return the child with a recorded name, borrowed, or NULL if it does not
 * exist. Several names may be recorded as the same text with '?': the child at
 * `address` comes first. */
static PyObject *
child_named(PyObject *children, const char *name, uintptr_t address)
{
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *child;
    if (strchr(name, '?') != NULL) {
        while (PyDict_Next(children, &at, &key, &child)) {
            if ((uintptr_t)child == address && is_recorded_as(key, name)) {
                return child;
            }
        }
    }
    return PyDict_GetItemString(children, name);
}

/* Follow the recorded path through the current modules of the holder. Return
 * whether it still leads to `wanted`. */
static bool
path_reaches(const fd_finder *finder, const fd_found_modules *modules,
             PyObject *holder, uint32_t index, const PyObject *wanted,
             char path[FD_FINDER_PATH])
{
    uint32_t chain[FD_FINDER_DEPTH];
    int depth = 0;
    size_t used = 0;
    for (; index != 0 && depth < FD_FINDER_DEPTH;
         index = modules->list.list[index].below) {
        chain[depth++] = index;
    }
    PyObject *module = holder;
    while (depth > 0 && module != NULL) {
        const fd_found_module *at = &modules->list.list[chain[--depth]];
        const char *name = &modules->names.list[at->name];
        PyObject *children = fd_plain_dict(module, finder->key);
        module = children != NULL && append_name(path, &used, name)
                   ? child_named(children, name, at->module)
                   : NULL;
    }
    return index == 0 && module == wanted;
}

static bool
finds_module(const fd_finder *finder, const fd_found_modules *modules,
             PyObject *holder, PyObject *wanted, char path[FD_FINDER_PATH])
{
    uint32_t index = fd_map_get(&modules->at, (uintptr_t)wanted);
    return index != 0
        && path_reaches(finder, modules, holder, index, wanted, path);
}

/* Return the cache entry of the holder, or the oldest one. */
static fd_found_modules *
modules_of(fd_finder *finder, const PyObject *holder)
{
    fd_found_modules *oldest = &finder->kept[0];
    for (int i = 0; i < FD_FINDER_HOLDERS; i++) {
        fd_found_modules *at = &finder->kept[i];
        if (at->holder == (uintptr_t)holder) {
            return at;
        }
        oldest = at->used < oldest->used ? at : oldest;
    }
    return oldest;
}

/* Collect all modules below the holder. */
static void
build_modules(fd_finder *finder, PyObject *holder)
{
    fd_found_modules *modules = &finder->small;
    static const fd_found_module root = {0, 0, 0};
    uint64_t visits = 0;
    clear_modules(modules);
    if (fd_vector_push(&modules->list, root) == FD_OK) {
        modules->holder = (uintptr_t)holder;
        walk_modules(finder, &visits, holder, 0, 0);
    }
    finder->visits += visits;
}

/* Move the result of the latest walk to the cache, unless it is small. */
static void
keep_modules(fd_finder *finder, fd_found_modules *modules)
{
    fd_found_modules made = finder->small;
    if (made.list.count <= FEW) {
        return;
    }
    made.used = finder->searches;
    clear_modules(modules);
    *modules = made;
    finder->small = (fd_found_modules){.holder = 0};
}

/* Return whether a module that is not cached has been added below the
 * holder. */
static bool
was_added(fd_finder *finder, PyObject *holder, const PyObject *wanted)
{
    uint64_t visits = 0;
    bool found = is_below(finder, &visits, holder, wanted, 0);
    finder->visits += visits;
    return found;
}

/* Return whether another walk is within the limit. The limit is twice as high
 * for a holder that is not cached, because most of its modules will be
 * searched. A module that is missing in a cached holder is probably not below
 * it. */
static bool
may_walk(const fd_finder *finder, bool known)
{
    uint64_t most = MOST_VISITS + VISITS_A_SEARCH * finder->searches;
    return finder->visits < (known ? most : 2 * most);
}

fd_finding
fd_finder_path(fd_finder *finder, PyObject *holder, PyObject *wanted,
               char path[FD_FINDER_PATH])
{
    fd_found_modules *modules = modules_of(finder, holder);
    bool known = modules->holder == (uintptr_t)holder;
    finder->searches++;
    if (known) {
        modules->used = finder->searches;
        if (finds_module(finder, modules, holder, wanted, path)) {
            return FD_FOUND;
        }
    }
    if (finder->key == NULL) {
        finder->key = PyUnicode_InternFromString("_modules");
        PyErr_Clear();
    }
    if (finder->key == NULL || !may_walk(finder, known)) {
        return FD_NOT_SEARCHED;
    }
    if (known && !was_added(finder, holder, wanted)) {
        return FD_NOT_BELOW;
    }
    build_modules(finder, holder);
    bool found = finds_module(finder, &finder->small, holder, wanted, path);
    keep_modules(finder, modules);
    return found ? FD_FOUND : FD_NOT_BELOW;
}
