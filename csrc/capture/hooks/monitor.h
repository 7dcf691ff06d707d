/* The default source of Python calls on Python 3.12 and later: sys.monitoring
 * (PEP 669). Arguments live as long as without it. It reports calls that the
 * evaluator hook does not receive (constructors on 3.13), and uses neither the
 * C stack nor the evaluator. */
#ifndef FD_MONITOR_H
#define FD_MONITOR_H

#include "base/status.h"
#include "capture/hooks/frame_hook.h"

/* Register the callbacks, or change their work to `hook`. Return FD_ECONFLICT
 * if no tool id is free; the message names the tools that use them. Sets no
 * exception. Requires the GIL, like all functions below. */
fd_status fd_monitor_install(fd_hook hook, fd_error *error);

/* Disable all events until the next fd_monitor_install. The tool id is kept,
 * because another tool could claim it. */
void fd_monitor_pause(void);

void fd_monitor_remove(void);

#endif
