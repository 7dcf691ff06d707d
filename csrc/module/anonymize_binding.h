/* Hashes of single names. */
#ifndef FD_ANONYMIZE_BINDING_H
#define FD_ANONYMIZE_BINDING_H

#include "module/state.h"
#include "trace/anonymize.h"

/* anonymous_name(salt, name) -> str */
PyObject *fd_anonymous_name_py(PyObject *module, PyObject *args);

#endif
