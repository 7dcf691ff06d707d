/* When a class is called often, Python 3.13 enters its __init__ without the
 * evaluator hook. So each __init__ that allows this reports its start and end
 * through sys.monitoring, and this file opens the entries that the hook has
 * not opened. If no tool id is free, such calls are found only if they call
 * other functions (python_calls.c). Does nothing on earlier versions. Requires
 * the GIL. */
#ifndef FD_CONSTRUCTORS_H
#define FD_CONSTRUCTORS_H

#include "capture/frames/code_nodes.h"

/* Watch the existing constructors and those created later. Keeps a pending
 * exception. */
void fd_constructors_watch(void);

void fd_constructors_release(void);

#endif
