/* The choice of quiet calls: in unrecorded steps, the evaluator hook is removed
 * while such a call runs, so nothing below it is followed (hooks/frame_hook.h).
 *
 * A function and class is quiet if nothing that needs the hook has been
 * recorded below any of its calls: ends of steps, waits for collectives. An
 * optimizer needs no hook if PyTorch has reported each of its calls, a backward
 * pass needs none if equally many have preceded each call of the only
 * optimizer. Calls with library code below are quiet first; those with few
 * functions of the user only if the other followed calls cost too much. */
#ifndef FD_QUIET_CALLS_H
#define FD_QUIET_CALLS_H

#include "capture/state/session_state.h"

/* Choose by all calls that were recorded so far, if there are new ones. Between
 * fd_window_end and the next generation. */
void fd_quiet_choose(fd_session *session);

/* Note the thread that ends a step: the only one with quiet calls. */
void fd_quiet_step(fd_session *session, const fd_thread *thread);

/* fd_thread_watch.alarm: let the main thread follow calls again if a quiet call
 * takes longer than usual steps. */
uint64_t fd_quiet_alarm(uint64_t now);

#endif
