/* Shapes and element types of the operands of operators per call path:
 * CallGraph(measure="shapes"), and of custom operators measure="flops". */
#ifndef FD_SHAPE_CALLS_H
#define FD_SHAPE_CALLS_H

#include "capture/state/session_state.h"

/* Different operands of one call path that are kept; calls with others are
 * counted together. */
enum { FD_SHAPES_PER_PATH = 32 };

/* After the entry of `record` was pushed, in a measured step. */
void fd_shape_call_start(fd_thread *thread, const void *record);

#endif
