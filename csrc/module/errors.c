#include "module/errors.h"

#include <string.h>

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
    /* A name in it may have been cut off within a character. */
    PyObject *message =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL) {
        PyErr_SetObject(type, message);
        Py_DECREF(message);
    }
    return NULL;
}
