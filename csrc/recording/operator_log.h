/* Calls of operators with what goes in and out, for execution traces: one
 * fd_op_call each and words that say what its operands are, in chunks of
 * their own, a series a thread.
 *
 *     calls     [ fd_op_call | fd_op_call | ... ]     in the order of starts
 *                    │ inputs   │ outputs
 *     operands  [ words | words | words | ... ]
 *
 * A record is there from its beginning, so that a hung process says what it
 * waits for. The owner alone writes; a new chunk takes the recording's lock.
 */
#ifndef FD_OPERATOR_LOG_H
#define FD_OPERATOR_LOG_H

#include "recording/chunk_pool.h"
#include "recording/recording_file.h"

#include "base/vector.h"

struct fd_tree;

typedef struct fd_open_op_call {
    const void *record; /* who opened it */
    fd_op_call *call;   /* NULL: it found no room */
} fd_open_op_call;

/* Of one thread. */
typedef struct fd_op_log {
    fd_pool calls;
    fd_pool operands;
    uint32_t window; /* generation that the open calls are of */
    FD_VECTOR(fd_open_op_call) open;
    FD_VECTOR(uint64_t) words; /* of the call that begins or ends */
} fd_op_log;

/* `record` begins a call: `what` without its thread, parent and operands, and
 * the words in tree->ops. NULL: (counted) no room. What other windows left
 * open stays open. An asynchronous one encloses nothing. */
fd_op_call *fd_op_calls_begin(struct fd_tree *tree, const fd_op_call *what,
                              const void *record, uint32_t window);

/* `record` ends now; the words are its outputs. Calls that it encloses and
 * whose end nobody saw stay open. */
void fd_op_calls_end(struct fd_tree *tree, const void *record, uint64_t now);

/* The end of a call on whatever thread: `ticks` before the flag, so that a
 * reader that finds it ended finds how long it took. */
void fd_op_call_close(fd_op_call *call, uint64_t now);

void fd_op_log_clear(fd_op_log *log);

#endif
