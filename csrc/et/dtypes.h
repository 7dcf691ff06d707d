/* Types of elements, as PyTorch numbers and spells them. */
#ifndef FD_DTYPES_H
#define FD_DTYPES_H

#include "et/et_graph.h"

/* An element of c10::ScalarType by number: the C++ name in PyTorch's observer,
 * the Python name, and bytes; "unknown" for any other number. */
typedef struct fd_dtype {
    const char *cpp;
    const char *name;
    uint8_t bytes;
} fd_dtype;

const fd_dtype *fd_dtype_at(uint32_t number);

/* The bytes of one element of a dtype in any spelling; 0 if unknown. */
uint32_t fd_et_item_size(const char *dtype);

/* Count the nodes with operands, results or messages of an unknown dtype. */
fd_status fd_et_check_dtypes(fd_et *et);

#endif
