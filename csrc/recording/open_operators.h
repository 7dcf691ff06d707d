/* The open operators of one thread, for execution traces: operator_log.h. */
#ifndef FD_OPEN_OPERATORS_H
#define FD_OPEN_OPERATORS_H

#include "base/vector.h"
#include "recording/chunk_pool.h"

typedef struct fd_open_op_call {
    const void *record; /* the PyTorch record that opened it */
    fd_op_call *call;   /* NULL: there was no space for a record */
} fd_open_op_call;

typedef struct fd_op_log {
    fd_pool calls;
    fd_pool operands;
    uint32_t window; /* window in which the open calls began */
    FD_VECTOR(fd_open_op_call) open;
    FD_VECTOR(uint64_t) words; /* operands of the call that begins or ends */
} fd_op_log;

static inline void
fd_op_log_clear(fd_op_log *log)
{
    fd_vector_clear(&log->open);
    fd_vector_clear(&log->words);
}

#endif
