/* Attributes of the program's objects, read without running its code. */
#ifndef FD_PLAIN_ATTRIBUTES_H
#define FD_PLAIN_ATTRIBUTES_H

#include "capture/python/pyframe.h"

/* An attribute as it is stored, a new reference; NULL, no exception, when
 * reading it would run code of the program. */
PyObject *fd_plain_attribute(PyObject *object, PyObject *name);

#endif
