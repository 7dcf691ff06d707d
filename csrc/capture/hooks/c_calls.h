/* Calls of C functions by Python code (CallGraph(detail="c_calls")), on all
 * threads: entries below the Python frame of the caller. The source is a tool
 * of sys.monitoring (Python 3.12 and later). Requires the GIL. */
#ifndef FD_C_CALLS_H
#define FD_C_CALLS_H

#include "base/status.h"
#include "capture/state/session_state.h"

/* Claim the source of events. Return FD_ECONFLICT with a message if no tool id
 * is free or Python has no sys.monitoring. Sets no exception. */
fd_status fd_c_calls_open(fd_session *session, fd_error *error);

/* Enable or disable the events on all threads. */
void fd_c_calls_switch(fd_session *session, bool on);

/* Disable the events and release the source. */
void fd_c_calls_close(void);

#endif
