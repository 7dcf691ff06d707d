/* Communication: bytes of the operators of c10d per call path, process group
 * and element type, and the number of collectives per group. Call it inside
 * the section of the thread, after the call was pushed. */
#ifndef FD_COMM_CALLS_H
#define FD_COMM_CALLS_H

#include "capture/state/session_state.h"

void fd_comm_call_start(fd_thread *thread, const void *record);

#endif
