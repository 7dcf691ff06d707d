/* The number of parameters of a module, from PyTorch's accessors. They are
 * called only if they run no code of the program. Requires the GIL and a
 * guard. */
#ifndef FD_PARAMETERS_H
#define FD_PARAMETERS_H

#include "capture/python/pyframe.h"

typedef struct fd_parameters {
    uint64_t elements;
    uint64_t bytes;
} fd_parameters;

/* Count the parameters of `module` and of all modules below it, each once. A
 * DTensor counts with its full size, because FSDP gathers the parameters of a
 * module only before its own forward. Other subclasses of tensors do not
 * count. The result is 0 while a torch function mode or a tracer is active, or
 * if there are too many modules. */
fd_parameters fd_parameters_of(PyObject *module);

#endif
