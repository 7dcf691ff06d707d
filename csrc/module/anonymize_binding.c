#include "module/anonymize_binding.h"

#include "module/field_tables.h"
#include "trace/known_names.h"

#include <string.h>

PyObject *
fd_anonymous_name_py(PyObject *module, PyObject *args)
{
    const char *salt;
    PyObject *name;
    fd_buffer made = {.bytes = NULL};
    (void)module;
    if (!PyArg_ParseTuple(args, "sO&:anonymous_name", &salt,
                          PyUnicode_FSConverter, &name)) {
        return NULL;
    }
    fd_names_hide(fd_names_key(salt, strlen(salt)), &made,
                  PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name));
    Py_DECREF(name);
    return fd_buffer_object(&made);
}
