/* Which tensors are the same. A recording has addresses, and an address is
 * used again when a tensor dies. Nobody tells that it died: but what comes out
 * of a call that did not take it was made within that call. So between two
 * sightings of an address
 *
 *     seen ......... call begins ...... seen ........ call ends, gives it
 *      old                               new           new
 *
 * there is a new tensor when a call that gives it, and did not take it, began
 * in between. A tensor is also new when its storage is another one. */
#ifndef FD_TENSOR_IDENTITIES_H
#define FD_TENSOR_IDENTITIES_H

#include "et/readers/et_operands.h"

/* A call, by places in the order of all beginnings and ends. */
typedef struct fd_tensor_call {
    const fd_op_call *raw;
    fd_words in;
    fd_words out;
    uint32_t parent; /* the call around it, + 1; 0: none */
    uint32_t begin;
    uint32_t end;   /* UINT32_MAX: not seen */
    uint32_t first; /* its first tensor in fd_et_identities */
    uint32_t outs;  /* the first that comes out */
} fd_tensor_call;

typedef FD_VECTOR(fd_tensor_call) fd_et_calls;

/* A number each tensor of each call, from 1 on, the same for the same one; in
 * the order of calls, inputs before outputs. */
typedef struct fd_et_identities {
    FD_VECTOR(uint32_t) tensors;
    FD_VECTOR(uint32_t) storages;
    uint32_t tensor_count;
    uint32_t storage_count;
} fd_et_identities;

/* Sets `first` and `outs` of each call. */
fd_status fd_et_identify(fd_et_calls *calls, fd_et_identities *identities);

void fd_et_identities_clear(fd_et_identities *identities);

#endif
