/* FLOPs of operators, from the sizes of their inputs. A multiplication and an
 * addition count as 2 FLOPs. */
#ifndef FD_FLOP_FORMULAS_H
#define FD_FLOP_FORMULAS_H

#include "capture/operands/operands.h"

/* Compute the FLOPs of a call. Return false if its inputs are not as
 * expected. */
typedef bool fd_flop_count(fd_operand_list inputs, uint64_t *flops);

/* Indexes of the arguments of an attention kernel. */
typedef struct fd_attention_layout {
    uint8_t query;    /* followed by key and value */
    uint8_t sequence; /* dimension of the sequence, from the end: 2 or 3 */
    uint8_t causal;   /* a bool, or the type of the mask; 0: no mask */
    uint8_t lengths;  /* cumulative lengths of sequences; 0: no argument */
    uint8_t windows;  /* numbers that limit the keys of a query; 0: no
                         argument */
    bool backward;
} fd_attention_layout;

typedef struct fd_flop_formula {
    const char *name;
    fd_flop_count *count; /* NULL: attention */
    bool numbers; /* whether it reads more than the shapes of tensors */
    fd_attention_layout attention;
} fd_flop_formula;

/* Return the formula of an operator by its name without overload, such as
 * "aten::mm", or NULL. */
const fd_flop_formula *fd_flop_formula_of(const char *name);

/* Compute the FLOPs of a call. Return false if they cannot be derived from its
 * inputs. */
bool fd_flop_formula_count(const fd_flop_formula *formula,
                           fd_operand_list inputs, uint64_t *flops);

/* Return whether an operator belongs to neither PyTorch nor one of its
 * libraries. */
bool fd_flop_is_custom(const char *name);

/* Return the bytes of all tensors among the inputs, including those in
 * lists. */
uint64_t fd_operand_bytes(fd_operand_list inputs);

#endif
