/* Inputs and outputs of operators, read where PyTorch's boxed values
 * (c10::IValue) and tensors (c10::TensorImpl) lie in memory. Their accessors
 * are inline C++, and those that are not may raise or run Python for tensors
 * of some kinds: fields are read, and nothing is called. A self-test on the
 * loaded library finds out the offsets of the fields, or refuses. */
#ifndef FD_OPERANDS_H
#define FD_OPERANDS_H

#include "capture/state/session_state.h"

/* A tensor, and where its parts are as PyTorch says. */
typedef struct fd_operands_sample {
    PyObject *object; /* borrowed */
    uint64_t tensor;  /* at::TensorImpl */
    uint64_t storage; /* at::StorageImpl */
    uint64_t data;    /* its first element */
} fd_operands_sample;

/* Learn the layout from the operators that `run` calls (probe.py) with this
 * tensor. */
fd_status fd_operands_attach(fd_session *session, fd_thread *thread,
                             const fd_operands_sample *sample, PyObject *run,
                             fd_error *error);

/* Append what `record` takes, or gives, as words
 * (recording/recording_format.h). False: some of it was cut. */
bool fd_operands_take(fd_op_log *log, const void *record);
bool fd_operands_give(fd_op_log *log, const void *record);

/* Append a text. */
bool fd_operands_text(fd_op_log *log, const char *text, size_t size);

/* Append the tensor that an object of Python is. */
bool fd_operands_object(fd_op_log *log, const PyObject *tensor);

/* Append a first word; `high` has 32 bits. */
bool fd_operands_head(fd_op_log *log, uint32_t kind, uint64_t high);

/* The same with a word behind it. */
bool fd_operands_number(fd_op_log *log, uint32_t kind, uint64_t high,
                        uint64_t number);

#endif
