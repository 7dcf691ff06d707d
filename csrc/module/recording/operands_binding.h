/* Methods of Session for operands, memory and process groups. */
#ifndef FD_OPERANDS_BINDING_H
#define FD_OPERANDS_BINDING_H

#include "capture/session/session.h"

/* attach_operands(tensor, (its TensorImpl, StorageImpl, data), run, on_model).
 * Returns None, or raises an exception with the reason why operands cannot be
 * read. */
PyObject *fd_session_attach_operands(PyObject *self, PyObject *args);

/* attach_memory(probe) */
PyObject *fd_session_attach_memory(PyObject *self, PyObject *probe);

/* Return the session of a Session object (session_type.c). */
fd_session *fd_session_of(PyObject *self);

/* name_group(address, text), for measures of communication. */
PyObject *fd_session_name_group(PyObject *self, PyObject *args);

#endif
