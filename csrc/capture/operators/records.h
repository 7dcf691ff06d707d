/* The `record` back end: PyTorch calls the recorder at the start and end of
 * each operator, autograd node and range, on any thread, with or without the
 * GIL. */
#ifndef FD_RECORDS_H
#define FD_RECORDS_H

#include "capture/state/session_state.h"

/* Find PyTorch, select the layout by self-test and register the callbacks.
 * Return FD_EINVAL with the reason if this PyTorch is not supported. Requires
 * the GIL; runs a few operators on this thread. */
fd_status fd_records_attach(fd_session *session, fd_thread *thread,
                            PyObject *probe, fd_error *error);

/* Register the callbacks, instead of earlier ones, and remove them. Cheap, and
 * safe while other threads run operators. */
void fd_records_listen(const fd_session *session);
void fd_records_ignore(const fd_session *session);

#endif
