/* What sessions do for execution traces. */
#ifndef FD_MODULE_OPERANDS_H
#define FD_MODULE_OPERANDS_H

#include "capture/session.h"

/* attach_operands(tensor, (its TensorImpl, StorageImpl, data), run, on_model):
 * None, or an exception that says why operands cannot be read. */
PyObject *fd_session_attach_operands(PyObject *module, fd_session *session,
                                     fd_thread *thread, PyObject *args);

#endif
