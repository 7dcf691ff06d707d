#include "capture/rules/node_sources.h"

#include "capture/rules/program_objects.h"

#include <stdlib.h>
#include <string.h>

static const char *
text_after(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

/* Return the names after "arg:" or "attr:", or NULL for other texts. */
static const char *
names_of(const char *text, bool *attribute)
{
    text += *text == '!';
    const char *names = text_after(text, "attr:");
    *attribute = names != NULL;
    return names != NULL ? names : text_after(text, "arg:");
}

static int32_t
parameter_index(const PyCodeObject *code, const char *name, size_t size)
{
    int count = code->co_argcount + code->co_kwonlyargcount;
    for (int i = 0; i < count; i++) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(
            PyTuple_GET_ITEM(code->co_localsplusnames, i), &length);
        if (text == NULL) {
            PyErr_Clear();
        }
        else if ((size_t)length == size && memcmp(text, name, size) == 0) {
            return i;
        }
    }
    return -1;
}

fd_source
fd_source_of(const char *text, const PyCodeObject *code)
{
    fd_source source = {.from = FD_SOURCE_NONE, .slot = -1};
    bool attribute;
    if (text == NULL) {
        return source;
    }
    const char *names = names_of(text, &attribute);
    if (names == NULL) {
        bool counts = strcmp(text, "count") == 0;
        source.from = counts ? FD_SOURCE_COUNT : FD_SOURCE_NUMBER;
        source.number = counts ? 0 : strtol(text, NULL, 10);
        return source;
    }
    source.from = FD_SOURCE_VALUE;
    source.negated = *text == '!';
    source.slot = code->co_argcount > 0 ? 0 : -1;
    if (!attribute) {
        size_t size = strcspn(names, ".");
        source.slot = parameter_index(code, names, size);
        names += size + (names[size] == '.');
    }
    for (int i = 0; i < FD_SOURCE_DEPTH && *names != '\0'; i++) {
        size_t size = strcspn(names, ".");
        source.path[i] = PyUnicode_FromStringAndSize(names, (Py_ssize_t)size);
        if (source.path[i] == NULL) {
            PyErr_Clear();
            source.slot = -1;
            break;
        }
        PyUnicode_InternInPlace(&source.path[i]);
        names += size + (names[size] == '.');
    }
    return source;
}

void
fd_source_clear(fd_source *source)
{
    for (int i = 0; i < FD_SOURCE_DEPTH; i++) {
        Py_CLEAR(source->path[i]);
    }
    source->from = FD_SOURCE_NONE;
}

PyObject *
fd_source_object(const fd_source *source, const fd_frame *frame)
{
    if (source->from != FD_SOURCE_VALUE || source->slot < 0) {
        return NULL;
    }
    PyObject *value =
        Py_XNewRef(fd_unboxed(fd_frame_local(frame, source->slot)));
    for (int i = 0;
         i < FD_SOURCE_DEPTH && value != NULL && source->path[i] != NULL;
         i++) {
        PyObject *next = fd_plain_attribute(value, source->path[i]);
        Py_DECREF(value);
        value = next;
    }
    return value;
}

static int64_t
number_of(PyObject *value)
{
    int overflow = 0;
    if (!PyLong_CheckExact(value) && !PyBool_Check(value)) {
        return -1;
    }
    int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && number >= 0 && number < INT32_MAX ? number : -1;
}

int64_t
fd_source_number(const fd_source *source, const fd_frame *frame)
{
    if (source->from == FD_SOURCE_NUMBER) {
        return source->number;
    }
    PyObject *value = fd_source_object(source, frame);
    int64_t number = value != NULL ? number_of(value) : -1;
    Py_XDECREF(value);
    return number;
}

uint64_t
fd_source_bytes(const fd_source *source, const fd_frame *frame)
{
    int64_t number = fd_source_number(source, frame);
    PyObject *value = number < 0 ? fd_source_object(source, frame) : NULL;
    uint64_t bytes = value != NULL ? fd_tensors_bytes(value)
                                   : (uint64_t)(number > 0 ? number : 0);
    Py_XDECREF(value);
    return bytes;
}

bool
fd_source_holds(const fd_source *source, const fd_frame *frame, bool otherwise)
{
    if (source->from == FD_SOURCE_NUMBER) {
        return source->number != 0;
    }
    PyObject *value = fd_source_object(source, frame);
    int64_t number = value == NULL    ? -1
                   : value == Py_None ? 0
                                      : number_of(value);
    bool plain = value != NULL
              && (value == Py_None || PyLong_CheckExact(value)
                  || PyBool_Check(value));
    /* An object that is neither a number nor None is true. */
    bool known = value != NULL;
    Py_XDECREF(value);
    return known ? (plain ? number != 0 : true) != source->negated : otherwise;
}
