/* Parts of steps and of time, in the session of a budget:
 *
 *   rest     of an unrecorded step in which code runs for the first time, from
 *            there on: only new functions stay in the recording
 *   cut      a recorded step that is much longer than the others: recording
 *            ends, and only new functions stay in it
 *   window   of time, while the program has no steps: some are recorded
 *
 * The deadline of the process ends cuts, rests and windows. A Python call
 * notices it. If a loop of operators has no such call, the watch adds a pending
 * call. Requires the GIL, except fd_partial_forked. */
#ifndef FD_PARTIAL_STEPS_H
#define FD_PARTIAL_STEPS_H

#include "capture/session/recorded_windows.h"

/* Start the watch of the session that starts, and set its deadline. */
void fd_partial_start(fd_session *session);

/* The same for a step that begins. */
void fd_partial_step(fd_session *session);

/* Start the watch again at the first Python call; from CPython 3.12 on at the
 * first one after a second. */
void fd_partial_forked(const fd_session *session);

/* Return whether the schedule has decided for the step that begins. If so, keep
 * the duration of the one that ends. */
bool fd_partial_is_decided(fd_session *session);

/* Note that the schedule of a budget was asked: none of the next `steps` steps,
 * if positive, is recorded. */
void fd_partial_decide(fd_session *session, long steps);

/* fd_session.deadline_passed. */
void fd_partial_deadline_passed(fd_session *session);

/* fd_session.code_found. */
bool fd_partial_code_found(fd_session *session, const struct fd_code *known);

/* End a rest. */
void fd_partial_end_rest(fd_session *session);

#endif
