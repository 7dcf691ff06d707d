/* Calls that affect the recording itself: the end of a training step, the
 * import of PyTorch, the creation of a process group, the end of a wait for a
 * collective. Requires the GIL.
 *
 * A step ends with a call of an optimizer (recording/steps/step_rounds.h), or with
 * the backward pass around it, with a batch of an engine, or with a function
 * that the user names. */
#ifndef FD_STEP_CALLS_H
#define FD_STEP_CALLS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* Handle the start of a call whose code has one of FD_CODE_EVENTS. `caller` is
 * the innermost Python frame around it, or NULL. */
void fd_events_called(fd_thread *thread, uint16_t special,
                      const fd_frame *frame, fd_frame *caller);

/* Handle its end. */
void fd_events_returned(fd_thread *thread, uint16_t special);

/* End a step as the program demands. */
void fd_events_demanded(fd_session *session, fd_thread *thread);

/* Handle the report of PyTorch that Optimizer.step is about to return, which
 * counts if the call is hidden in a quiet one. */
void fd_optimizer_reported(PyThreadState *state);

/* Handle it at the end of the muted call in which it came. */
void fd_optimizer_heard(PyThreadState *state, fd_thread *thread);

#endif
