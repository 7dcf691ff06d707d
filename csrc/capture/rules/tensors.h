/* Sizes of tensors in bytes, from PyTorch's C code. No code of the program
 * runs: subclasses of torch.Tensor count 0, and function modes are disabled.
 * Requires the GIL and a guard (guard.h). */
#ifndef FD_TENSORS_H
#define FD_TENSORS_H

#include "capture/python/pyframe.h"

#include <stdint.h>

/* Return the size of a tensor, of tensors in lists and tuples, and of the
 * attribute `tensor` of their elements (torch.distributed.P2POp), or 0 for
 * other objects. Sets no exception. */
uint64_t fd_tensors_bytes(PyObject *object);

#endif
