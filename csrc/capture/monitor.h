/* The second source of Python calls: sys.monitoring (PEP 669), Python 3.12 and
 * later. Sees what the evaluator hook cannot (constructors on 3.13) and leaves
 * the C stack and the evaluator alone. */
#ifndef FD_MONITOR_H
#define FD_MONITOR_H

#include "base/status.h"
#include "capture/frame_hook.h"

/* Register our callbacks, or exchange their purpose. Without a free tool id
 * nothing is installed, and the line says who has them. Needs the GIL, as all
 * below; leaves no exception. */
fd_status fd_monitor_install(fd_hook hook, fd_error *error);

/* Nothing is reported until the next fd_monitor_install, which needs no new id:
 * no other tool can take ours meanwhile. */
void fd_monitor_rest(void);

void fd_monitor_remove(void);

#endif
