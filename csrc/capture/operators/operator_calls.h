/* Calls of operators for execution traces: records of the record back
 * end with operands, in recorded steps. */
#ifndef FD_OPERATOR_CALLS_H
#define FD_OPERATOR_CALLS_H

#include "capture/state/session_state.h"

/* `record` begins, the tree of the thread has its entry. Returns the id of
 * its fd_op_call; 0: there was no room. */
uint32_t fd_op_call_start(fd_thread *thread, const void *record);

/* It is about to end. Any thread. */
void fd_op_call_end(fd_thread *thread, const void *record);

#endif
