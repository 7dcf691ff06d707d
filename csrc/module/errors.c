#include "module/errors.h"

#include <string.h>

/* Owned; for functions that do not get the module. */
static PyObject *value_error;
static PyObject *index_error;

PyObject *
fd_value_error(void)
{
    return value_error;
}

PyObject *
fd_index_error(void)
{
    return index_error;
}

/* Add a subclass of Error and of a built-in class. Return -1 with an exception
 * on failure. */
static int
add_class(PyObject *module, const char *name, PyObject *builtin,
          const char *doc, PyObject **to)
{
    PyObject *bases =
        PyTuple_Pack(2, fd_module_state_of(module)->error, builtin);
    PyObject *made = bases == NULL
                       ? NULL
                       : PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
    Py_XDECREF(bases);
    if (made == NULL) {
        return -1;
    }
    Py_XSETREF(*to, made);
    return PyModule_AddObjectRef(module, strrchr(name, '.') + 1, made);
}

int
fd_errors_init(PyObject *module)
{
    fd_module_state *state = fd_module_state_of(module);
    state->error = PyErr_NewExceptionWithDoc(
        "fastdispatch.Error",
        "Invalid input or an invalid request. The text is one line: the\n"
        "fault, its place, and a remedy.",
        NULL, NULL);
    if (state->error == NULL
        || PyModule_AddObjectRef(module, "Error", state->error) < 0) {
        return -1;
    }
    if (add_class(module, "fastdispatch.ArgumentError", PyExc_ValueError,
                  "An invalid argument, also a ValueError.", &value_error)
        < 0) {
        return -1;
    }
    return add_class(module, "fastdispatch.RangeError", PyExc_IndexError,
                     "A number out of range, also an IndexError.",
                     &index_error);
}

PyObject *
fd_raise(PyObject *module, fd_status status, const fd_error *error)
{
    const char *name = fd_status_name(status);
    const char *text =
        error != NULL && error->text[0] != '\0' ? error->text : name;
    if (status == FD_ENOMEM && strstr(text, name) == NULL) {
        text = name;
    }
    PyObject *type = status == FD_ENOMEM ? PyExc_MemoryError
                                         : fd_module_state_of(module)->error;
    /* A name in the message may have been truncated within a character. */
    PyObject *message =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL) {
        PyErr_SetObject(type, message);
        Py_DECREF(message);
    }
    return NULL;
}

PyObject *
fd_none_or_raise(PyObject *module, fd_status status, const fd_error *error)
{
    return status == FD_OK ? Py_NewRef(Py_None)
                           : fd_raise(module, status, error);
}

PyObject *
fd_new_or_raise(PyTypeObject *type, void *self, fd_status status,
                const fd_error *error)
{
    if (status == FD_OK) {
        return self;
    }
    Py_XDECREF(self);
    return fd_raise(PyType_GetModule(type), status, error);
}

int
fd_choose_name(const char *what, const char *name, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    PyErr_Format(value_error, "%s=%s is unknown", what, name);
    return -1;
}
