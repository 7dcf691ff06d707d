/* Arguments and results of a Python function, as operands
 * (recording/operator_log.h): tensors, numbers, texts, and lists and dicts of
 * them. They are read from memory, without running code of the program.
 * Requires the GIL and a guard. */
#ifndef FD_ARGUMENTS_H
#define FD_ARGUMENTS_H

#include "capture/frames/code_nodes.h"
#include "capture/state/session_state.h"

/* Append the arguments of the call that `frame` is about to run: a list of
 * positional arguments and a dict of keyword arguments, without the receiver
 * and without defaults. Return false if some were truncated. */
bool fd_arguments_append(fd_thread *thread, const fd_frame *frame);

/* Append a value. Return false if it was truncated. */
bool fd_arguments_value(fd_thread *thread, PyObject *value);

#endif
