/* Records of operators with their operands, for execution traces, in recorded
 * steps. */
#ifndef FD_OPERATOR_CALLS_H
#define FD_OPERATOR_CALLS_H

#include "capture/state/session_state.h"

/* Begin a call, after the entry of `record` was pushed. */
void fd_op_call_start(fd_thread *thread, const void *record);

/* End a call before its entry ends. On any thread. */
void fd_op_call_end(fd_thread *thread, const void *record);

#endif
