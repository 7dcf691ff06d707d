/* Element types of tensors, with the numbers of PyTorch. */
#ifndef FD_SCALAR_TYPES_H
#define FD_SCALAR_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* An element type of c10::ScalarType: its C++ name as PyTorch's observer
 * writes it, its Python name, and the size of an element in bytes. */
typedef struct fd_dtype {
    const char *cpp;
    const char *name;
    uint8_t bytes;
} fd_dtype;

/* Return the type with this number, or the row of "unknown". */
const fd_dtype *fd_dtype_at(uint32_t number);

/* Return the bytes per element of a type in any spelling ("float", "Float",
 * "c10::BFloat16", "long int"), or 0 if unknown. */
uint32_t fd_dtype_size(const char *name, size_t size);

#endif
