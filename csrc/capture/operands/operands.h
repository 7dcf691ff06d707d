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

enum { FD_INLINE_DIMENSIONS = 5, FD_MOST_DIMENSIONS = 64 };

/* c10::IValue: a payload and a tag. */
typedef struct fd_operand_value {
    uint64_t payload;
    uint32_t tag;
    uint32_t unused;
} fd_operand_value;

/* c10::SizesAndStrides and the following fields of a TensorImpl. */
typedef struct fd_tensor_fields {
    uint64_t dimensions;
    union {
        int64_t here[2 * FD_INLINE_DIMENSIONS];
        const int64_t *elsewhere;
    };
    int64_t offset;
    int64_t elements;
    uint16_t dtype;
    int8_t device;
    int8_t device_index;
    uint8_t has_device;
} fd_tensor_fields;

/* Values of the tags, which differ between versions of PyTorch. */
typedef struct fd_operand_tags {
    uint32_t tensor;
    uint32_t list;
    uint32_t integer;
    uint32_t real;
    uint32_t boolean;
    uint32_t text;
    uint32_t device;
    uint32_t none;
} fd_operand_tags;

/* The memory layout, constant once the self-test has passed. */
extern struct fd_operand_layout {
    fd_operand_tags tags;
    uint16_t shape; /* offset in a TensorImpl; 0: unknown */
    uint16_t box;   /* offset of the TensorImpl in a PyObject */
    uint16_t data;  /* offset of the data in a StorageImpl */
} fd_operand_layout;

static inline const int64_t *
fd_tensor_sizes(const fd_tensor_fields *tensor)
{
    return tensor->dimensions > FD_INLINE_DIMENSIONS ? tensor->elsewhere
                                                     : tensor->here;
}

/* Return the tensor of a value, or NULL for another value or an undefined
 * tensor. */
static inline const fd_tensor_fields *
fd_operand_tensor(const fd_operand_value *value)
{
    const fd_tensor_fields *tensor =
        (const fd_tensor_fields *)(uintptr_t)(value->payload
                                              + fd_operand_layout.shape);
    return value->tag == fd_operand_layout.tags.tensor && value->payload != 0
                && tensor->has_device
                && tensor->dimensions <= FD_MOST_DIMENSIONS
             ? tensor
             : NULL;
}

/* The inputs of an operator, or the items of a list, read in place; valid until
 * the operator returns. */
typedef struct fd_operand_list {
    const fd_operand_value *values;
    uint32_t count;
} fd_operand_list;

fd_operand_list fd_operands_of(const void *record);

/* Return operand `at`, counted from 0, as a tensor, or NULL if it is missing or
 * not a tensor. */
static inline const fd_tensor_fields *
fd_operands_tensor(fd_operand_list list, uint32_t at)
{
    return at < list.count ? fd_operand_tensor(&list.values[at]) : NULL;
}

/* Get operand `at`. Return false if it is missing or of another type. */
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
