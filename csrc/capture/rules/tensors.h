/* How many bytes the data of tensors is, asked of PyTorch's C code. No code of
 * the program runs: of a class derived from torch.Tensor nothing is known, and
 * function modes are off meanwhile. Needs the GIL, and a guard (guard.h). */
#ifndef FD_TENSORS_H
#define FD_TENSORS_H

#include "capture/python/pyframe.h"

#include <stdint.h>

/* Of a tensor, of those in lists and tuples, and of what objects there have as
 * their `tensor` (torch.distributed.P2POp). What is none of these counts 0. No
 * exception. */
uint64_t fd_tensors_bytes(PyObject *object);

#endif
