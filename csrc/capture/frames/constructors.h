/* Python 3.13 enters the __init__ of a class that is often called without the
 * evaluator hook. So each __init__ that can be entered that way reports its
 * start and end through sys.monitoring, and entries that the hook has not
 * opened are opened here. Without a free tool id, such calls are found only if
 * they call other functions (fd_calls_match). Does nothing on earlier
 * versions. Requires the GIL. */
#ifndef FD_CONSTRUCTORS_H
#define FD_CONSTRUCTORS_H

#include "capture/frames/code_nodes.h"

/* Start with the existing constructors, and add those created later. Keeps a
 * pending exception. */
void fd_constructors_watch(void);

void fd_constructors_release(void);

#endif
