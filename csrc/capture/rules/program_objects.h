/* Access to the program's objects without running its code. Requires the GIL and
 * a guard (guard.h). Nothing sets an exception. */
#ifndef FD_PROGRAM_OBJECTS_H
#define FD_PROGRAM_OBJECTS_H

#include "capture/python/pyframe.h"

#include <stdint.h>

/* Return a stored attribute as a new reference, or NULL if reading it would run
 * code of the program. */
PyObject *fd_plain_attribute(PyObject *object, PyObject *name);

/* Return an item of the dict of an instance, borrowed, or NULL if it is not a
 * dict. */
PyObject *fd_plain_dict(PyObject *object, PyObject *name);

/* Return an attribute of a module that the program has imported, as a new
 * reference, or NULL. */
PyObject *fd_imported_attribute(const char *module, const char *name);

/* Return the size in bytes of a tensor, of tensors in lists and tuples, and of
 * the attribute `tensor` of their elements (torch.distributed.P2POp), or 0 for
 * other objects. Subclasses of torch.Tensor count 0, and function modes are
 * disabled. */
uint64_t fd_tensors_bytes(PyObject *object);

#endif
