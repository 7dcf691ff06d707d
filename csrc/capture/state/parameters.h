/* The number of parameters of a module, from PyTorch's accessors, which are
 * called only if they run no code of the program. Requires the GIL and a
 * guard. */
#ifndef FD_PARAMETERS_H
#define FD_PARAMETERS_H

#include "capture/python/pyframe.h"

typedef struct fd_parameters {
    uint64_t elements;
    uint64_t bytes;
} fd_parameters;

/* The dict `name` of a module, borrowed, or NULL. Read from the instance dict,
 * without running code of the program. */
PyObject *fd_module_dict(PyObject *module, const char *name);

/* The parameters of `module` and of all modules below it, each one once. A
 * DTensor counts with its full size: FSDP gathers the parameters of a module
 * only before its own forward. Other subclasses of tensors do not count, nor
 * does anything while a torch function mode or a tracer is active. 0 if there
 * are too many modules. */
fd_parameters fd_parameters_of(PyObject *module);

#endif
