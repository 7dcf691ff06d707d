/* Shapes and element types of the operands of operators per call path: for
 * CallGraph(measure="shapes"), and for custom operators with
 * measure="flops". */
#ifndef FD_SHAPE_CALLS_H
#define FD_SHAPE_CALLS_H

#include "capture/operands/operands.h"

/* Maximum number of different operands recorded per call path; further ones
 * are counted together. */
enum { FD_SHAPES_PER_PATH = 32 };

/* Return whether numbers are recorded too: for padding and custom operators,
 * whose FLOP formulas need them. */
bool fd_shapes_keep_values(const char *name);

/* Set shapes, elements and bytes of the site to those of the inputs of the
 * running operator. Return whether the bytes include all tensors. */
bool fd_shapes_renew(fd_tree *tree, fd_measure_site *site, uint16_t flags,
                     fd_operand_list inputs);

#endif
