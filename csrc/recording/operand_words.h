/* Decoder of the words that describe the operands of a call:
 * docs/formats/recording.md. */
#ifndef FD_OPERAND_WORDS_H
#define FD_OPERAND_WORDS_H

#include "recording/recording_format.h"

#include <stdbool.h>

/* The words of the inputs or of the outputs of a call. They may be damaged. */
typedef struct fd_words {
    const uint64_t *at;
    const uint64_t *end;
} fd_words;

typedef struct fd_operand {
    uint32_t kind;   /* FD_OPERAND_* */
    uint32_t number; /* the high half of its first word, without
                        FD_OPERAND_VALUED */
    uint64_t head;
    const uint64_t *more; /* the words after it */
} fd_operand;

enum {
    FD_TENSOR_ADDRESS,
    FD_TENSOR_STORAGE,
    FD_TENSOR_OFFSET,
    FD_TENSOR_ELEMENTS,
    FD_TENSOR_SIZES
};

/* Read the next operand. Return false at the end and for malformed words. The
 * items of a list are the operands that follow it. */
bool fd_words_next(fd_words *words, fd_operand *operand);

#endif
