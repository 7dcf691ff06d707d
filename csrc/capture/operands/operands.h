/* Inputs and outputs of operators, read from PyTorch's boxed values
 * (c10::IValue) and tensors (c10::TensorImpl) in memory. Most of their
 * accessors are inline C++; others may raise or run Python for some kinds of
 * tensors. So fields are read, and nothing is called. A self-test on the
 * loaded library finds the offsets of the fields, or fails. */
#ifndef FD_OPERANDS_H
#define FD_OPERANDS_H

#include "capture/state/session_state.h"

/* A tensor, and the addresses of its parts according to PyTorch. */
typedef struct fd_operands_sample {
    PyObject *object; /* borrowed */
    uint64_t tensor;  /* at::TensorImpl */
    uint64_t storage; /* at::StorageImpl */
    uint64_t data;    /* its first element */
} fd_operands_sample;

/* Find the layout with the operators that `run` calls (probe.py) on this
 * tensor. */
fd_status fd_operands_attach(fd_session *session, fd_thread *thread,
                             const fd_operands_sample *sample, PyObject *run,
                             fd_error *error);

/* Append the inputs, or at the end the outputs, of `record` as words
 * (recording/recording_format.h). False: some were truncated. */
bool fd_operands_inputs(fd_op_log *log, const void *record);
bool fd_operands_outputs(fd_op_log *log, const void *record);

/* Append a text. */
bool fd_operands_text(fd_op_log *log, const char *text, size_t size);

/* Append a tensor, from its PyObject. */
bool fd_operands_object(fd_op_log *log, const PyObject *tensor);

/* Append a first word; `high` has 32 bits. */
bool fd_operands_head(fd_op_log *log, uint32_t kind, uint64_t high);

/* Append a first word and a second one. */
bool fd_operands_number(fd_op_log *log, uint32_t kind, uint64_t high,
                        uint64_t number);

#endif
