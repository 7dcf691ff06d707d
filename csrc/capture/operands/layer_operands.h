/* Forwards of modules among the calls for execution traces: what goes into a
 * layer and comes out, which no operator has. Needs the GIL. */
#ifndef FD_LAYER_OPERANDS_H
#define FD_LAYER_OPERANDS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* `frame` is about to run a method `forward`; false: of no module. The first
 * time that a module is called from no other, session->on_model is called. */
bool fd_layer_call_start(fd_thread *thread, const fd_code *known,
                         const fd_frame *frame);

/* It returned `result`, or raised with NULL. */
void fd_layer_call_end(fd_thread *thread, const fd_frame *frame,
                       PyObject *result);

#endif
