/* Identities of tensors. A recording has addresses, and an address is reused
 * after a tensor is freed, which is not recorded. However, a result of a call
 * that was not an operand was created within that call. Between two uses of an
 * address
 *
 *     seen ......... call begins ...... seen ........ call ends, returns it
 *      old                               new           new
 *
 * a new tensor was created if a call began in between that returns the tensor
 * and does not have it as an operand. A tensor is also new if its storage is
 * another one. */
#ifndef FD_TENSOR_IDENTITIES_H
#define FD_TENSOR_IDENTITIES_H

#include "et/readers/et_operands.h"

/* A call, by positions in the order of all starts and ends. */
typedef struct fd_tensor_call {
    const fd_op_call *raw;
    fd_words in;
    fd_words out;
    uint32_t parent; /* index + 1 of the call around it; 0: no call */
    uint32_t begin;
    uint32_t end;   /* UINT32_MAX: the end was not recorded */
    uint32_t first; /* index of its first tensor in fd_et_identities */
    uint32_t outs;  /* index of its first result */
} fd_tensor_call;

typedef FD_VECTOR(fd_tensor_call) fd_et_calls;

/* One number per tensor of each call, from 1, equal for the same tensor; in
 * the order of calls, inputs before outputs. */
typedef struct fd_et_identities {
    FD_VECTOR(uint32_t) tensors;
    FD_VECTOR(uint32_t) storages;
    uint32_t tensor_count;
    uint32_t storage_count;
} fd_et_identities;

/* Number the tensors, and set `first` and `outs` of each call. */
void fd_et_identify(fd_arena *arena, fd_et_calls *calls,
                    fd_et_identities *identities);

#endif
