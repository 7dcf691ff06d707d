/* Calls of operators with inputs and outputs, for execution traces: one
 * fd_op_call each and words that describe its operands, in separate chunks,
 * one series per thread.
 *
 *     calls     [ fd_op_call | fd_op_call | ... ]     in the order of starts
 *                    │ inputs   │ outputs
 *     operands  [ words | words | words | ... ]
 *
 * A record exists from the start of the call, so that the recording of a hung
 * process contains the call that it waits in. Only the owner writes; adding a
 * chunk takes the recording's lock.
 */
#ifndef FD_OPERATOR_LOG_H
#define FD_OPERATOR_LOG_H

#include "recording/context_tree.h"

/* Begin a call for PyTorch's `record`. `what` has all fields except thread,
 * parent and operands; the operands are the words in tree->ops. Return NULL
 * and count it if there is no space. Calls left open by earlier windows stay
 * open. An asynchronous call does not enclose other calls. */
fd_op_call *fd_op_calls_begin(fd_tree *tree, const fd_op_call *what,
                              const void *record, uint32_t window);

/* End the call of `record` now; the words in tree->ops are its outputs.
 * Enclosed calls without an end stay open. */
void fd_op_calls_end(fd_tree *tree, const void *record, uint64_t now);

/* End a call on any thread. The ticks are stored before the flag, so that a
 * reader that sees the flag can compute the duration. */
void fd_op_call_close(fd_op_call *call, uint64_t now);

#endif
