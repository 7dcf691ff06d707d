/* Calls that affect the recording itself: the end of a training step, the
 * import of PyTorch, the creation of a process group, the end of a wait for a
 * collective. Requires the GIL. */
#ifndef FD_STEP_CALLS_H
#define FD_STEP_CALLS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* Handle the start and the end of a call whose code has one of
 * FD_CODE_EVENTS. */
void fd_events_called(fd_thread *thread, uint16_t special);
void fd_events_returned(fd_thread *thread, uint16_t special);

#endif
