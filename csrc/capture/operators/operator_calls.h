/* Calls of operators for execution traces: records with operands, in recorded
 * steps. */
#ifndef FD_OPERATOR_CALLS_H
#define FD_OPERATOR_CALLS_H

#include "capture/state/session_state.h"

/* At the begin of `record`, after its entry was pushed. Returns the id of its
 * fd_op_call; 0 without room. */
uint32_t fd_op_call_start(fd_thread *thread, const void *record);

/* Before its end. Any thread. */
void fd_op_call_end(fd_thread *thread, const void *record);

#endif
