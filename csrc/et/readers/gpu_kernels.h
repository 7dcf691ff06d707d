/* The GPU work of each call itself, from the timed intervals around calls. A
 * stream works on one call at a time: the last one with an open interval.
 *
 *     aten::linear   [──────────────────────────)
 *     aten::addmm         [──────────────)
 *     kernels         linear    addmm     linear
 *
 * Each such part is a kernel; a call without a part gets one of length 0. Work
 * of the engine after an autograd node is in the interval of the node, and
 * belongs to the engine. */
#ifndef FD_GPU_KERNELS_H
#define FD_GPU_KERNELS_H

#include "et/readers/tensor_identities.h"

typedef struct fd_et_kernel {
    uint64_t launch; /* tick on the host: the first event of the call, or the
                      * end of the call with the previous interval */
    uint64_t start;  /* ticks */
    uint64_t end;
    uint64_t id; /* id of its node, set by the caller */
    uint32_t call;
    uint8_t device;
    uint16_t stream; /* stream, numbered in the order of appearance */
} fd_et_kernel;

typedef FD_VECTOR(fd_et_kernel) fd_et_kernels;

/* Append the kernels of all timed calls, stream by stream. */
void fd_et_find_kernels(fd_arena *arena, const fd_et_calls *calls,
                        fd_et_kernels *kernels);

/* Add a node below the call at this index, with the operands of the call. Times
 * of the kernel are in ns. */
void fd_et_put_kernel(fd_et *et, const fd_et_kernel *kernel, uint32_t index);

#endif
