/* Calls of C functions by Python code (CallGraph(detail="c_calls")), on all
 * threads: entries below the Python frame of the caller. The source is a tool
 * of sys.monitoring, or a profile function (sys.setprofile) on Python 3.11,
 * which has no such tools. Requires the GIL. */
#ifndef FD_C_CALLS_H
#define FD_C_CALLS_H

#include "base/status.h"
#include "capture/state/session_state.h"

/* Claim the source of events. Return FD_ECONFLICT with a message if no tool id
 * is free or a thread has a profile function. Sets no exception. */
fd_status fd_c_calls_open(fd_session *session, fd_error *error);

/* Enable or disable the events on all threads. */
void fd_c_calls_switch(fd_session *session, bool on);

/* Disable the events and release the source. */
void fd_c_calls_close(void);

/* Enable the events on the calling thread again if another tool has removed
 * its profile function. Return false if that was necessary. */
bool fd_c_calls_check(const fd_session *session);

#endif
