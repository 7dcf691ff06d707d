/* Calls of operators with inputs and outputs, for execution traces: one
 * fd_op_call each and words that describe its operands, in separate chunks,
 * one series per thread.
 *
 *     calls     [ fd_op_call | fd_op_call | ... ]     in the order of starts
 *                    │ inputs   │ outputs
 *     operands  [ words | words | words | ... ]
 *
 * A record exists from the start of the call, so that the recording of a hung
 * process has the call it waits in. The owner alone writes; a new chunk takes
 * the recording's lock.
 */
#ifndef FD_OPERATOR_LOG_H
#define FD_OPERATOR_LOG_H

#include "recording/context_tree.h"

/* `record` begins a call: `what` without its thread, parent and operands, and
 * the words in tree->ops. NULL: (counted) no room. Calls left open by earlier
 * windows stay open. An asynchronous call encloses none. */
fd_op_call *fd_op_calls_begin(fd_tree *tree, const fd_op_call *what,
                              const void *record, uint32_t window);

/* `record` ends now; the words are its outputs. Enclosed calls without an end
 * stay open. */
void fd_op_calls_end(fd_tree *tree, const void *record, uint64_t now);

/* The end of a call on whatever thread: `ticks` before the flag, so that a
 * reader that sees the flag can compute the duration. */
void fd_op_call_close(fd_op_call *call, uint64_t now);

#endif
