/* Shapes and element types of the operands of operators per call path:
 * CallGraph(measure="shapes"), and of custom operators measure="flops". */
#ifndef FD_SHAPE_CALLS_H
#define FD_SHAPE_CALLS_H

#include "capture/operands/operands.h"

/* Different operands of one call path that are kept; calls with others are
 * counted together. */
enum { FD_SHAPES_PER_PATH = 32 };

/* Whether numbers are kept too: of padding and of custom operators, for
 * formulas of their FLOPs. */
bool fd_shapes_keep_values(const char *name);

/* Set the shapes of the site, its elements and bytes to those of these inputs
 * of the running operator. Returns whether the bytes are those of all
 * tensors. */
bool fd_shapes_renew(fd_tree *tree, fd_measure_site *site, uint16_t flags,
                     fd_operand_list inputs);

#endif
