/* Access to attributes of the program's objects without running its code. */
#ifndef FD_PLAIN_ATTRIBUTES_H
#define FD_PLAIN_ATTRIBUTES_H

#include "capture/python/pyframe.h"

/* Return a stored attribute as a new reference, or NULL without an exception
 * if reading it would run code of the program. */
PyObject *fd_plain_attribute(PyObject *object, PyObject *name);

#endif
