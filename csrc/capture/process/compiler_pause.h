/* PyTorch's compiler (Dynamo) is an evaluator of frames, too: functions that
 * the recorder calls inside a compiled region would be traced and compiled by
 * it. */
#ifndef FD_COMPILER_PAUSE_H
#define FD_COMPILER_PAUSE_H

#include "capture/python/pyframe.h"

/* Switch Dynamo off for the calling thread. Return its callback, a new
 * reference, or NULL if it is off or not imported. Requires the GIL and no
 * pending exception. */
PyObject *fd_compiler_pause(void);

/* Switch Dynamo on again with the result of fd_compiler_pause; consumes the
 * reference. */
void fd_compiler_resume(PyObject *callback);

#endif
