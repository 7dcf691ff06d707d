#include "capture/state/module_finder.h"

#include "capture/python/utf8_text.h"

#include <string.h>

enum {
    MAX_VISITS = 100000,   /* maximum visits of one walk */
    FEW = 64,              /* smaller results are not cached */
    MOST_VISITS = 2000000, /* maximum visits of all walks, plus ... */
    VISITS_A_SEARCH = 256  /* ... this number per search */
};

static void
clear(fd_places *places)
{
    fd_map_clear(&places->at);
    fd_vector_clear(&places->list);
    fd_vector_clear(&places->names);
    *places = (fd_places){.holder = 0};
}

void
fd_finder_clear(fd_finder *finder)
{
    for (int i = 0; i < FD_PLACES; i++) {
        clear(&finder->kept[i]);
    }
    clear(&finder->small);
    Py_CLEAR(finder->key);
}

/* Return the `_modules` of a module, borrowed, or NULL if it has none of that
 * type. */
static PyObject *
children_of(const fd_finder *finder, PyObject *module)
{
    PyObject *attributes = PyObject_GenericGetDict(module, NULL);
    PyObject *children = attributes != NULL && PyDict_CheckExact(attributes)
                           ? PyDict_GetItemWithError(attributes, finder->key)
                           : NULL;
    PyErr_Clear();
    Py_XDECREF(attributes); /* the instance keeps a reference */
    return children != NULL && PyDict_Check(children) ? children : NULL;
}

/* Add a module and return its index. Return 0 if it is already known, or if
 * there is no space. */
static uint32_t
add_text(fd_places *places, const PyObject *module, PyObject *text,
         uint32_t below)
{
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(text, &size);
    uint32_t place = places->list.count;
    if (name == NULL || size >= FD_PLACE_NAME
        || fd_map_get(&places->at, (uintptr_t)module) != 0
        || fd_vector_reserve(&places->list, 1) != FD_OK
        || fd_vector_reserve(&places->names, (size_t)size + 1) != FD_OK
        || fd_map_put(&places->at, (uintptr_t)module, place) != FD_OK) {
        PyErr_Clear();
        return 0;
    }
    memcpy(places->names.list + places->names.count, name, (size_t)size + 1);
    places->list.list[place] =
        (fd_place_below){(uintptr_t)module, places->names.count, below};
    places->names.count += (uint32_t)size + 1;
    places->list.count++;
    return place;
}

static uint32_t
add(fd_places *places, const PyObject *module, PyObject *key, uint32_t below)
{
    PyObject *text = fd_utf8_text_of(key);
    uint32_t place = text != NULL ? add_text(places, module, text, below) : 0;
    Py_XDECREF(text);
    return place;
}

/* Walk the modules below a module, depth first. A module that occurs several
 * times gets the first path. */
static void
walk(fd_finder *finder, uint64_t *visits, PyObject *module, uint32_t below,
     int depth)
{
    fd_places *places = &finder->small;
    PyObject *children = depth < FD_PLACE_DEPTH && *visits < MAX_VISITS
                           ? children_of(finder, module)
                           : NULL;
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *child;
    Py_XINCREF(children);
    while (children != NULL && *visits < MAX_VISITS
           && PyDict_Next(children, &at, &key, &child)) {
        ++*visits;
        uint32_t place = child != Py_None ? add(places, child, key, below) : 0;
        if (place != 0) {
            Py_INCREF(child);
            walk(finder, visits, child, place, depth + 1);
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
    PyObject *children = depth < FD_PLACE_DEPTH && *visits < MAX_VISITS
                           ? children_of(finder, module)
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
append(char path[FD_PLACE_NAME], size_t *used, const char *name)
{
    size_t size = strlen(name);
    size_t point = *used > 0;
    if (*used + point + size >= FD_PLACE_NAME) {
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
path_reaches(const fd_finder *finder, const fd_places *places,
             PyObject *holder, uint32_t place, const PyObject *wanted,
             char path[FD_PLACE_NAME])
{
    uint32_t chain[FD_PLACE_DEPTH];
    int depth = 0;
    size_t used = 0;
    for (; place != 0 && depth < FD_PLACE_DEPTH;
         place = places->list.list[place].below) {
        chain[depth++] = place;
    }
    PyObject *module = holder;
    while (depth > 0 && module != NULL) {
        const fd_place_below *at = &places->list.list[chain[--depth]];
        const char *name = &places->names.list[at->name];
        PyObject *children = children_of(finder, module);
        module = children != NULL && append(path, &used, name)
                   ? child_named(children, name, at->module)
                   : NULL;
    }
    return place == 0 && module == wanted;
}

static bool
finds(const fd_finder *finder, const fd_places *places, PyObject *holder,
      PyObject *wanted, char path[FD_PLACE_NAME])
{
    uint32_t place = fd_map_get(&places->at, (uintptr_t)wanted);
    return place != 0
        && path_reaches(finder, places, holder, place, wanted, path);
}

/* Return the cache entry of the holder, or the oldest one. */
static fd_places *
places_of(fd_finder *finder, const PyObject *holder)
{
    fd_places *oldest = &finder->kept[0];
    for (int i = 0; i < FD_PLACES; i++) {
        fd_places *at = &finder->kept[i];
        if (at->holder == (uintptr_t)holder) {
            return at;
        }
        oldest = at->used < oldest->used ? at : oldest;
    }
    return oldest;
}

/* Collect all modules below the holder. */
static void
build(fd_finder *finder, PyObject *holder)
{
    fd_places *places = &finder->small;
    static const fd_place_below root = {0, 0, 0};
    uint64_t visits = 0;
    clear(places);
    if (fd_vector_push(&places->list, root) == FD_OK) {
        places->holder = (uintptr_t)holder;
        walk(finder, &visits, holder, 0, 0);
    }
    finder->visits += visits;
}

/* Move the result of the latest walk to the cache, unless it is small. */
static void
keep(fd_finder *finder, fd_places *places)
{
    fd_places made = finder->small;
    if (made.list.count <= FEW) {
        return;
    }
    made.used = finder->searches;
    clear(places);
    *places = made;
    finder->small = (fd_places){.holder = 0};
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
               char path[FD_PLACE_NAME])
{
    fd_places *places = places_of(finder, holder);
    bool known = places->holder == (uintptr_t)holder;
    finder->searches++;
    if (known) {
        places->used = finder->searches;
        if (finds(finder, places, holder, wanted, path)) {
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
    build(finder, holder);
    bool found = finds(finder, &finder->small, holder, wanted, path);
    keep(finder, places);
    return found ? FD_FOUND : FD_NOT_BELOW;
}
