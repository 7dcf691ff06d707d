/* Autograd nodes: which forward call made them, and their time. */
#ifndef FD_BACKWARD_H
#define FD_BACKWARD_H

#include "capture/state/session_state.h"

/* The engine announces a node with a record of this prefix, prepares it, runs
 * it (a separate record) and forwards its results. */
bool fd_backward_is_announcement(const void *record);

/* The announcement: not a call yet, but the call ends with it. */
void fd_backward_announce(fd_thread *thread, const void *record, bool timed);

/* The node itself. */
void fd_backward_start(fd_thread *thread, const void *record, bool timed);

#endif
