/* Attributes of the program's objects, read without running its code. */
#ifndef FD_PLAIN_ATTRIBUTES_H
#define FD_PLAIN_ATTRIBUTES_H

#include "capture/python/pyframe.h"

/* A stored attribute, a new reference; NULL, without an exception, if reading
 * it would run code of the program. */
PyObject *fd_plain_attribute(PyObject *object, PyObject *name);

#endif
