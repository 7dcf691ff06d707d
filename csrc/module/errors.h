/* Conversion of a status of the lower layers to a Python exception; options by
 * their names. */
#ifndef FD_ERRORS_H
#define FD_ERRORS_H

#include "base/status.h"
#include "module/state.h"

/* Raise MemoryError for FD_ENOMEM, else fastdispatch.Error with the message of
 * `error`. Return NULL, so that callers can write `return fd_raise(...)`. */
PyObject *fd_raise(PyObject *module, fd_status status, const fd_error *error);

/* Return None for FD_OK, else raise and return NULL. */
PyObject *fd_none_or_raise(PyObject *module, fd_status status,
                           const fd_error *error);

/* Return a new object for FD_OK, else drop it, raise and return NULL. */
PyObject *fd_new_or_raise(PyTypeObject *type, void *self, fd_status status,
                          const fd_error *error);

/* Return the exception classes for invalid arguments, borrowed. They derive
 * from fastdispatch.Error and from ValueError or IndexError. */
PyObject *fd_value_error(void);
PyObject *fd_index_error(void);

/* Return the index of a name in a NULL-terminated list, or -1 with an exception
 * for the argument `what`. */
int fd_choose_name(const char *what, const char *name,
                   const char *const *names);

/* Add Error and these classes to the module. Return -1 with an exception on
 * failure. */
int fd_errors_init(PyObject *module);

#endif
