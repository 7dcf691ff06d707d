/* Begin and end of windows in which an active session records, and its hooks.
 * Requires the GIL. */
#ifndef FD_RECORDED_WINDOWS_H
#define FD_RECORDED_WINDOWS_H

#include "capture/state/session_state.h"

/* Install the hook for recorded calls, or for `following` those that are
 * not. */
void fd_window_hook(const fd_session *session, bool following);

void fd_window_remove_hook(const fd_session *session);

/* Disable the hooks temporarily, but keep the tool id of sys.monitoring. */
void fd_window_unhook(const fd_session *session);

/* Begin a window. It may end the session: it calls functions of the user. */
void fd_window_begin(fd_session *session);

/* End a window. fd_window_begin, fd_window_follow, fd_window_unhook or the end
 * of the session must follow. */
void fd_window_end(fd_session *session);

/* Keep the stacks of open calls while nothing is recorded. */
void fd_window_follow(fd_session *session);

/* Leave the stacks of open calls to the watch, which finds them once a second.
 * Return false if this is not possible. */
bool fd_window_watch(fd_session *session);

/* Store the state between windows: an unrecorded step of a budget is part of
 * a running recording. */
void fd_window_mark(const fd_session *session);

#endif
