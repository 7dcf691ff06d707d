/* From the call of a C function to its node. Requires the GIL. */
#ifndef FD_C_FUNCTION_NODES_H
#define FD_C_FUNCTION_NODES_H

#include "capture/state/session_state.h"

/* The C function behind a callable: a built-in function or method, a method
 * descriptor whose first argument is `first` (NULL: unknown), or a bound
 * method of one of these. False for all others. */
bool fd_c_target_of(PyObject *callable, PyObject *first, fd_c_target *target);

/* The node of a C function, made at its first call. False: do not record the
 * call, because the keep filter drops the function, or has ended the
 * recording. */
bool fd_c_function_node(fd_thread *thread, const fd_c_target *target,
                        uint32_t *node);

#endif
