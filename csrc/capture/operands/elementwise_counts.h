/* Operations per element of element-wise operators, norms and reductions. An
 * addition, a multiplication, a comparison and a function such as exp are one
 * operation each. */
#ifndef FD_ELEMENTWISE_COUNTS_H
#define FD_ELEMENTWISE_COUNTS_H

#include "capture/operands/operands.h"

typedef struct fd_elementwise {
    uint8_t count;    /* operations per element; 0: not in the table */
    uint8_t operands; /* number of leading operands, whose sizes are
                         broadcast */
    uint8_t buffers;  /* operations per element of the third operand, a list
                         that may be empty */
} fd_elementwise;

/* Look up an operator by its name without overload: "aten::add" or, in place,
 * "aten::add_". */
fd_elementwise fd_elementwise_of(const char *name);

/* Return the number of operations of a call. Operators on lists of tensors
 * have as many results. */
uint64_t fd_elementwise_flops(fd_elementwise of, fd_operand_list inputs);

#endif
