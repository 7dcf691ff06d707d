#include "module/errors.h"

#include <string.h>

PyObject *
fd_raise(PyObject *module, fd_status status, const fd_error *error)
{
    if (status == FD_ENOMEM) {
        return PyErr_NoMemory();
    }
    const char *text = error != NULL && error->text[0] != '\0'
                         ? error->text
                         : fd_status_name(status);
    /* A name in it may have been cut off within a character. */
    PyObject *message =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL) {
        PyErr_SetObject(fd_module_state_of(module)->error, message);
        Py_DECREF(message);
    }
    return NULL;
}
