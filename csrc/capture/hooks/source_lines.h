/* Executions and time of source lines of the user's code
 * (CallGraph(detail="lines")), on all threads: one measure record per call
 * path and line. The time of a line ends at the next event of its frame, so it
 * includes the calls that the line makes. The source is a tool of
 * sys.monitoring, or a trace function (sys.settrace) on Python 3.11, which has
 * no such tools. Requires the GIL. */
#ifndef FD_SOURCE_LINES_H
#define FD_SOURCE_LINES_H

#include "base/status.h"
#include "capture/state/session_state.h"

/* Claim the source of events. Return FD_ECONFLICT with a message if no tool id
 * is free or a thread has a trace function. Sets no exception. */
fd_status fd_lines_open(fd_session *session, fd_error *error);

/* Enable or disable the events on all threads. */
void fd_lines_switch(fd_session *session, bool on);

/* Disable the events and release the source. */
void fd_lines_close(void);

/* Enable the events on the calling thread again if another tool has removed
 * its trace function. Return false if that was necessary. */
bool fd_lines_check(const fd_session *session);

#endif
