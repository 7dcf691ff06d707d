/* Operands of recorded calls: words (recording/recording_format.h), one after
 * the other, and as the lists of JSON that PyTorch writes. */
#ifndef FD_ET_OPERANDS_H
#define FD_ET_OPERANDS_H

#include "et/dtypes.h"
#include "et/et_anonymize.h"
#include "trace/reader/file_chunks.h"

/* Words of one side of a call, within a file that may be damaged. */
typedef struct fd_words {
    const uint64_t *at;
    const uint64_t *end;
} fd_words;

typedef struct fd_operand {
    uint32_t kind;   /* FD_OPERAND_* */
    uint32_t number; /* the high half of its first word, without
                        FD_OPERAND_VALUED */
    uint64_t head;
    const uint64_t *more; /* the words behind it */
} fd_operand;

/* Those of a call; none if they are invalid. */
fd_words fd_words_at(const fd_chunks *file, uint64_t offset, uint32_t size);

/* The next one; false at the end and at invalid words. The items of a list
 * follow it. */
bool fd_words_next(fd_words *words, fd_operand *operand);

/* The next one that is a tensor. */
bool fd_words_tensor(fd_words *words, fd_operand *tensor);

enum {
    FD_TENSOR_ADDRESS,
    FD_TENSOR_STORAGE,
    FD_TENSOR_OFFSET,
    FD_TENSOR_ELEMENTS,
    FD_TENSOR_SIZES
};

/* The dtype in the first word of a tensor. */
const fd_dtype *fd_dtype_of(const fd_operand *tensor);

/* The only element of a tensor that has FD_OPERAND_VALUED. */
static inline uint64_t
fd_operand_value(const fd_operand *tensor)
{
    return tensor->more[FD_TENSOR_SIZES + 2 * tensor->number];
}

/* Ids of the tensors of a side, in order, and of their storages. */
typedef struct fd_operand_ids {
    const uint32_t *tensors;
    const uint32_t *storages;
} fd_operand_ids;

/* A device in the first word of an operand, as a JSON text: "cuda:0". */
void fd_et_put_device(fd_buffer *to, uint64_t head);

/* All of them as texts of `et`. Names in them stay where `anonymizer` is
 * NULL. */
fd_status fd_et_put_operands(fd_et *et, fd_words words, fd_operand_ids ids,
                             const fd_et_anonymizer *anonymizer, fd_et_io *io);

#endif
