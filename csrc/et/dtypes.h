/* Types of elements, as PyTorch spells them. */
#ifndef FD_DTYPES_H
#define FD_DTYPES_H

#include "base/scalar_types.h"
#include "et/et_graph.h"

/* Return the bytes per element of a dtype, given by the id of its text, or 0
 * if it is unknown. */
uint32_t fd_et_item_size(const fd_et *et, uint32_t dtype);

/* Count the nodes with operands, results or messages of an unknown dtype. */
void fd_et_check_dtypes(fd_et *et);

#endif
