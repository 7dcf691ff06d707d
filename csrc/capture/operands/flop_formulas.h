/* FLOPs of operators, from the sizes of their inputs. A multiplication and an
 * addition are 2. */
#ifndef FD_FLOP_FORMULAS_H
#define FD_FLOP_FORMULAS_H

#include "capture/operands/operands.h"

/* What a call computes; false: its inputs are not as expected. */
typedef bool fd_flop_count(fd_operand_list inputs, uint64_t *flops);

typedef struct fd_flop_formula {
    const char *name;
    fd_flop_count *count;
    bool numbers; /* it reads more than the shapes of tensors */
} fd_flop_formula;

/* The formula of an operator by its name without overload, "aten::mm"; NULL:
 * none. */
const fd_flop_formula *fd_flop_formula_of(const char *name);

/* An operator of neither PyTorch nor a library of it. */
bool fd_flop_is_custom(const char *name);

/* The bytes of all tensors among the inputs, also in lists. */
uint64_t fd_operand_bytes(fd_operand_list inputs);

#endif
