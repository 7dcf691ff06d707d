#include "module/anonymize_binding.h"

int
fd_take_private(PyObject *value, void *to)
{
    fd_private *private = to;
    private->asked = value != Py_None;
    return !private->asked
        || PyArg_Parse(value, "(zs)", &private->wish.salt,
                       &private->wish.prefix);
}
