/* How many parameters a module has: numbers of PyTorch's own accessors, asked
 * for only where those run no code of the program. Needs the GIL, and a guard
 * around it. */
#ifndef FD_PARAMETERS_H
#define FD_PARAMETERS_H

#include "capture/python/pyframe.h"

typedef struct fd_parameters {
    uint64_t elements;
    uint64_t bytes;
} fd_parameters;

/* The dict `name` of a module, borrowed, read without running any code of the
 * program: the instance dict, then a plain dict look-up. NULL without. */
PyObject *fd_module_dict(PyObject *module, const char *name);

/* Those of `module` and of all modules below it, each parameter once. A
 * DTensor counts as a whole, wherever its parts lie: FSDP gathers those of a
 * module before its forward, and above it they are in parts still. Of other
 * kinds of tensors, and while a torch function mode is on or a trace is made,
 * nothing counts. 0 where there are too many modules. */
fd_parameters fd_parameters_of(PyObject *module);

#endif
