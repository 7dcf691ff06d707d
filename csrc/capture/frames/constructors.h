/* Python 3.13 enters the __init__ of a class that is called often without
 * asking the evaluator hook, whatever hook there is. So every __init__ that
 * can be entered that way reports its start and end through sys.monitoring,
 * and what the hook did not open is opened here. Without a free tool id such
 * calls are found only by what they call (fd_calls_match). Nothing to do on
 * earlier versions. Needs the GIL. */
#ifndef FD_CONSTRUCTORS_H
#define FD_CONSTRUCTORS_H

#include "capture/frames/code_nodes.h"

/* From now on, the constructors there are and those still to be made. Keeps a
 * pending exception. */
void fd_constructors_watch(void);

void fd_constructors_release(void);

#endif
