/* The second source of Python calls: sys.monitoring (PEP 669), Python 3.12 and
 * later. Sees what the evaluator hook cannot (constructors on 3.13) and leaves
 * the C stack and the evaluator alone. */
#ifndef FD_MONITOR_H
#define FD_MONITOR_H

#include "base/status.h"
#include "capture/hooks/frame_hook.h"

/* Register our callbacks, or change their purpose. FD_ECONFLICT if no tool id
 * is free; the message names the tools that have them. Requires the GIL, as
 * all below. Sets no exception. */
fd_status fd_monitor_install(fd_hook hook, fd_error *error);

/* Disable all events until the next fd_monitor_install, and keep the tool id:
 * another tool could claim it meanwhile. */
void fd_monitor_pause(void);

void fd_monitor_remove(void);

#endif
