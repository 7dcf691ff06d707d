/* The `record` back end: PyTorch calls the recorder at the start and end of
 * every operator, autograd node and range, on every thread, with or without
 * the GIL. */
#ifndef FD_RECORDS_H
#define FD_RECORDS_H

#include "capture/state/session_state.h"

/* Find PyTorch, choose the layout by self-test and listen from now on.
 * FD_EINVAL when this PyTorch is not supported; the text is the reason. Needs
 * the GIL; runs a few operators on this thread. */
fd_status fd_records_attach(fd_session *session, fd_thread *thread,
                            PyObject *probe, fd_error *error);

/* Start and stop to listen; cheap, safe while other threads run operators. */
void fd_records_listen(const fd_session *session);
void fd_records_ignore(void);

/* Function.apply is about to make an autograd node: the node's origin is the
 * context that runs now. */
void fd_records_makes_node(fd_thread *thread);

#endif
