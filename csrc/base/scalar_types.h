/* Types of the elements of tensors, as PyTorch numbers them. */
#ifndef FD_SCALAR_TYPES_H
#define FD_SCALAR_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Of c10::ScalarType by number: C++'s name, as PyTorch's observer has it, that
 * of Python, and bytes of an element. */
typedef struct fd_dtype {
    const char *cpp;
    const char *name;
    uint8_t bytes;
} fd_dtype;

/* A row of "unknown" for any other number. */
const fd_dtype *fd_dtype_at(uint32_t number);

/* The bytes of an element of a type in any spelling: "float", "Float",
 * "c10::BFloat16", "long int"; 0: unknown. */
uint32_t fd_dtype_size(const char *name, size_t size);

#endif
