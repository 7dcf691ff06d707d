/* The second source of Python calls: sys.monitoring (PEP 669), Python 3.12 and
 * later. Sees what the evaluator hook cannot (constructors on 3.13) and leaves
 * the C stack and the evaluator alone. */
#ifndef FD_MONITOR_H
#define FD_MONITOR_H

#include "capture/frame_hook.h"

/* Register our callbacks, or exchange their purpose. Without a free tool id
 * nothing is installed: -1 with an exception. Needs the GIL. */
int fd_monitor_install(fd_hook hook);

void fd_monitor_remove(void);

#endif
