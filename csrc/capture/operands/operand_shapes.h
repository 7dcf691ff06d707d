/* The shapes and element types of the inputs of a call: as a hash, as text, and
 * as words. */
#ifndef FD_OPERAND_SHAPES_H
#define FD_OPERAND_SHAPES_H

#include "capture/operands/operands.h"
#include "recording/measures/measure_sites.h"

typedef struct fd_operand_shapes {
    uint64_t hash; /* hash of element types and sizes */
    uint64_t elements;
    uint64_t bytes;
} fd_operand_shapes;

/* Summarize all tensors among the inputs, including those in lists. With
 * `values`, the hash includes numbers, truth values and lists of them. */
fd_operand_shapes fd_operand_shapes_of(fd_operand_list inputs, bool values);

/* Write a text like "float32[2,3], [int64[4]], _, 1". Other inputs are "_",
 * which is omitted at the end. In a longer text, lists are cut and end with
 * the elements of all their tensors: "[int64[4], int64[4], ...400]". If it is
 * still too long, it is cut and ends with "...". */
enum { FD_SHAPES_TEXT = 480 };
void fd_operand_shapes_text(fd_operand_list inputs, bool values,
                            char to[FD_SHAPES_TEXT]);

/* Element types and sizes of the inputs of a call as words, to compare them
 * with those of the next call from the same call path:
 *
 *     inputs   float32[2,3], _, [int64[4]]
 *     words    3 | tensor 6, 2 | 6 | 2 | 3 | other | list 1 | hash | 4
 */
/* Store the key of these inputs in FD_SITE_KEY words, or FD_NO_KEY if it does
 * not fit or if a list may mix tensors and other items. */
void fd_operand_key_store(uint64_t *words, fd_operand_list inputs);

/* Return whether the inputs have this key. */
bool fd_operand_key_is(uint64_t *words, fd_operand_list inputs);

#endif
