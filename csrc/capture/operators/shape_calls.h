/* Shapes and element types of the operands of operators per call path:
 * CallGraph(measure="shapes") of all operators, measure="flops" of those from
 * whose shapes FLOPs are derived when a recording is read. Nothing is
 * recomputed for the same inputs as last time. */
#ifndef FD_SHAPE_CALLS_H
#define FD_SHAPE_CALLS_H

#include "capture/state/session_state.h"

/* Maximum number of different operands recorded per call path; further ones
 * are counted together. Batches of text may have a length of their own each. */
enum { FD_SHAPES_PER_PATH = 1024 };

/* Count a call of the operator of `record` with its operands, after its entry
 * was pushed, in a measured step. */
void fd_shape_call_start(fd_thread *thread, const void *record);

#endif
