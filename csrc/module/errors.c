#include "module/errors.h"

PyObject *
fd_raise(PyObject *module, fd_status status, const fd_error *error)
{
    if (status == FD_ENOMEM) {
        return PyErr_NoMemory();
    }
    const char *text = error != NULL && error->text[0] != '\0'
                           ? error->text
                           : fd_status_name(status);
    PyErr_SetString(fd_module_state_of(module)->error, text);
    return NULL;
}
