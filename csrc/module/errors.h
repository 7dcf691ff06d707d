/* From a status of the lower layers to a Python exception, in one place. */
#ifndef FD_ERRORS_H
#define FD_ERRORS_H

#include "base/status.h"
#include "module/state.h"

/* Raise MemoryError for FD_ENOMEM, else fastdispatch.Error, with the line of
 * `error`. Returns NULL, so that a function ends in one line. */
PyObject *fd_raise(PyObject *module, fd_status status, const fd_error *error);

#endif
