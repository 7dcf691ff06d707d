/* Autograd nodes: the forward calls that created them, and their time. */
#ifndef FD_BACKWARD_H
#define FD_BACKWARD_H

#include "capture/state/session_state.h"

/* Return whether a record announces an autograd node. The engine announces a
 * node with a record of a fixed prefix, prepares it, runs it (a separate
 * record) and forwards its results. */
bool fd_backward_is_announcement(const void *record);

/* Handle the announcement of a node; the call will end with it. */
void fd_backward_announce(fd_thread *thread, const void *record, bool timed);

/* Handle the record of the node itself. */
void fd_backward_start(fd_thread *thread, const void *record, bool timed);

#endif
