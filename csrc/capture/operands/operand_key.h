/* Element types and sizes of the inputs of a call as words, to compare them
 * with those of the next call from the same call path:
 *
 *     inputs   float32[2,3], _, [int64[4]]
 *     words    3 | tensor 6, 2 | 6 | 2 | 3 | other | list 1 | hash | 4
 */
#ifndef FD_OPERAND_KEY_H
#define FD_OPERAND_KEY_H

#include "capture/operands/operands.h"
#include "recording/measures/measure_sites.h"

/* Store the key of these inputs in FD_SITE_KEY words, or FD_NO_KEY if it does
 * not fit or if a list may mix tensors and other items. */
void fd_operand_key_store(uint64_t *words, fd_operand_list inputs);

/* Return whether the inputs have this key. */
bool fd_operand_key_is(const uint64_t *words, fd_operand_list inputs);

#endif
