/* What goes into an operator and comes out, read where PyTorch's boxed values
 * (c10::IValue) and tensors (c10::TensorImpl) lie in memory. Their accessors
 * are inline C++, and those that are not may raise or run Python for tensors of
 * some kinds: we read, and call nothing. A self-test on this very library
 * finds out where the fields lie, or refuses. */
#ifndef FD_OPERANDS_H
#define FD_OPERANDS_H

#include "capture/session.h"

/* Learn the layout from the operators that `run` calls (probe.py) with the
 * tensor at this address, which has this storage. */
fd_status fd_operands_attach(fd_session *session, fd_thread *thread,
                             uint64_t tensor, uint64_t storage, PyObject *run,
                             fd_error *error);

/* Append what `record` takes, or gives, as words (store/format.h). False: some
 * of it was cut. */
bool fd_operands_take(fd_op_log *log, const void *record);
bool fd_operands_give(fd_op_log *log, const void *record);

/* Append a text. */
bool fd_operands_text(fd_op_log *log, const char *text, size_t size);

#endif
