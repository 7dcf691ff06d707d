/* Memory layout of PyTorch's boxed values and tensors, as determined by
 * operands.c. */
#ifndef FD_OPERAND_LAYOUT_H
#define FD_OPERAND_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

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

/* Constant once a self-test has passed. */
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

#endif
