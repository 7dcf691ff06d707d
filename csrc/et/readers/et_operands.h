/* Reader of the operands of recorded calls (recording/recording_format.h), one
 * by one, and their conversion to the JSON lists that PyTorch writes. */
#ifndef FD_ET_OPERANDS_H
#define FD_ET_OPERANDS_H

#include "base/scalar_types.h"
#include "et/et_graph.h"
#include "recording/operand_words.h"
#include "trace/reader/file_chunks.h"

/* Return the operands of a call; empty if they are invalid. */
fd_words fd_words_at(const fd_chunks *file, uint64_t offset, uint32_t size);

/* Find the next tensor. */
bool fd_words_tensor(fd_words *words, fd_operand *tensor);

/* Return the only element of a tensor that has FD_OPERAND_VALUED. */
static inline uint64_t
fd_operand_value(const fd_operand *tensor)
{
    return tensor->more[FD_TENSOR_SIZES + 2 * tensor->number];
}

/* Ids of the tensors of the inputs or outputs, in order, and of their
 * storages. */
typedef struct fd_operand_ids {
    const uint32_t *tensors;
    const uint32_t *storages;
} fd_operand_ids;

/* Add all operands as texts of `et`. With `layers`, for graphs of layers
 * (pipeline/operand_facts.py), a tensor also has its address and its only
 * element, if it is known, and dtypes in Python's spelling; tuples and dicts
 * (keys and values alternate) are lists of the types Tuple and Dict. */
void fd_et_put_operands(fd_et *et, fd_words words, fd_operand_ids ids,
                        bool layers, fd_et_io *io);

#endif
