#include "recording/operand_words.h"

/* Set `size` to the number of words after the first. Return false for an
 * invalid kind. */
static bool
size_of(const fd_operand *operand, uint64_t *size)
{
    switch (operand->kind) {
    case FD_OPERAND_TENSOR:
        *size = FD_TENSOR_SIZES + 2 * (uint64_t)operand->number
              + operand->head / FD_OPERAND_VALUED;
        return true;
    case FD_OPERAND_TEXT:
        *size = ((uint64_t)operand->number + 7) / 8;
        return true;
    case FD_OPERAND_UNDEFINED:
    case FD_OPERAND_INT:
    case FD_OPERAND_DOUBLE:
    case FD_OPERAND_OTHER:
        *size = 1;
        return true;
    case FD_OPERAND_NONE:
    case FD_OPERAND_BOOL:
    case FD_OPERAND_DEVICE:
    case FD_OPERAND_LIST:
    case FD_OPERAND_DICT:
        *size = 0;
        return true;
    default:
        return false;
    }
}

bool
fd_words_next(fd_words *words, fd_operand *operand)
{
    uint64_t size;
    if (words->at >= words->end) {
        return false;
    }
    uint64_t head = *words->at;
    uint32_t kind = head & 0xff;
    uint64_t number =
        kind == FD_OPERAND_TENSOR ? head & ~FD_OPERAND_VALUED : head;
    *operand =
        (fd_operand){kind, (uint32_t)(number >> 32), head, words->at + 1};
    if (!size_of(operand, &size)
        || size > (uint64_t)(words->end - operand->more)) {
        words->at = words->end;
        return false;
    }
    words->at = operand->more + size;
    return true;
}
