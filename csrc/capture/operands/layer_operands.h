/* Forwards of modules as calls for execution traces, with the inputs and
 * outputs of the layer. Requires the GIL. */
#ifndef FD_LAYER_OPERANDS_H
#define FD_LAYER_OPERANDS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* Before `frame` runs a method `forward`; false if not of a module. At the
 * first call of a module outside of other modules, calls
 * session->on_model. */
bool fd_layer_call_start(fd_thread *thread, const fd_code *known,
                         const fd_frame *frame);

/* After it returned `result`; NULL: raised an exception. */
void fd_layer_call_end(fd_thread *thread, const fd_frame *frame,
                       PyObject *result);

#endif
