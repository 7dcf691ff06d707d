/* Inputs and outputs of operators, read from PyTorch's boxed values
 * (c10::IValue) and tensors (c10::TensorImpl) in memory. Most of their
 * accessors are inline C++; others may raise or run Python for some kinds of
 * tensors. So the fields are read directly, and no accessor is called. A
 * self-test on the loaded library determines the offsets of the fields, or
 * fails. */
#ifndef FD_OPERANDS_H
#define FD_OPERANDS_H

#include "capture/state/session_state.h"

/* A tensor, and the addresses of its parts according to PyTorch. */
typedef struct fd_operands_sample {
    PyObject *object; /* borrowed */
    uint64_t tensor;  /* at::TensorImpl */
    uint64_t storage; /* at::StorageImpl */
    uint64_t data;    /* address of the first element */
} fd_operands_sample;

/* Determine the layout with the operators that `run` calls (probe.py) on this
 * tensor. */
fd_status fd_operands_attach(fd_session *session, fd_thread *thread,
                             const fd_operands_sample *sample, PyObject *run,
                             fd_error *error);

/* The inputs of an operator, read in place; valid until it returns. */
typedef struct fd_operand_list {
    const void *values;
    uint32_t count;
} fd_operand_list;

typedef struct fd_tensor_view {
    uint32_t dimensions;
    uint16_t dtype;       /* c10::ScalarType */
    const int64_t *sizes; /* stored inside the tensor */
    int64_t elements;
} fd_tensor_view;

fd_operand_list fd_operands_of(const void *record);

/* Get operand `at`, counted from 0, as a tensor. Return false if it is missing
 * or not a tensor. */
bool fd_operands_tensor(fd_operand_list list, uint32_t at, fd_tensor_view *to);
bool fd_operands_bool(fd_operand_list list, uint32_t at, bool *to);

/* Get operand `at`, a list of lists, tensors or numbers, as operands. */
bool fd_operands_list(fd_operand_list list, uint32_t at, fd_operand_list *to);
bool fd_operands_int(fd_operand_list list, uint32_t at, int64_t *to);

/* Get the payload of an operand that is neither a tensor nor a list: a number,
 * or the address of an object. */
bool fd_operands_box(fd_operand_list list, uint32_t at, uint64_t *to);

/* Return operand `at` alone as a list; empty if it is missing. */
fd_operand_list fd_operands_item(fd_operand_list list, uint32_t at);

/* Append the inputs, or at the end the outputs, of `record` as words
 * (recording/recording_format.h). Return false if some were truncated. */
bool fd_operands_inputs(fd_op_log *log, const void *record);
bool fd_operands_outputs(fd_op_log *log, const void *record);

/* Append a text. */
bool fd_operands_text(fd_op_log *log, const char *text, size_t size);

/* Append a tensor, from its PyObject. */
bool fd_operands_object(fd_op_log *log, const PyObject *tensor);

/* Append the first word of an operand; `high` has 32 bits. */
bool fd_operands_head(fd_op_log *log, uint32_t kind, uint64_t high);

/* Append the first two words of an operand. */
bool fd_operands_number(fd_op_log *log, uint32_t kind, uint64_t high,
                        uint64_t number);

#endif
