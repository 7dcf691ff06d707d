/* Forward calls of modules as calls of execution traces, with the inputs and
 * outputs of the module. Requires the GIL. */
#ifndef FD_LAYER_OPERANDS_H
#define FD_LAYER_OPERANDS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* Begin a call, before `frame` runs a method `forward`. Return false if it is
 * not the forward of a module. Calls session->on_model at the first call of a
 * module outside of other modules. */
bool fd_layer_call_start(fd_thread *thread, const fd_code *known,
                         const fd_frame *frame);

/* End a call that has returned `result`; NULL: raised an exception. */
void fd_layer_call_end(fd_thread *thread, const fd_frame *frame,
                       PyObject *result);

#endif
