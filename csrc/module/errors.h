/* From a status of the lower layers to a Python exception, in one place. */
#ifndef FD_ERRORS_H
#define FD_ERRORS_H

#include "base/status.h"
#include "module/state.h"

/* Raise MemoryError for FD_ENOMEM, else fastdispatch.Error, with the line of
 * `error`. Returns NULL, so that a function ends in one line. */
PyObject *fd_raise(PyObject *module, fd_status status, const fd_error *error);

/* None for FD_OK, else NULL after fd_raise. */
PyObject *fd_none_or_raise(PyObject *module, fd_status status,
                           const fd_error *error);

/* Borrowed: the classes for invalid arguments, of fastdispatch.Error and of
 * ValueError or IndexError. */
PyObject *fd_value_error(void);
PyObject *fd_index_error(void);

/* Add Error and these classes to the module. -1 with an exception. */
int fd_errors_init(PyObject *module);

#endif
