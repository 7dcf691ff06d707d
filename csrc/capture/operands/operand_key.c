#include "capture/operands/operand_key.h"

#include "base/hash.h"
#include "capture/operands/operand_layout.h"

#include <string.h>

/* Values of the first word of an input. A list without tensors is OTHER. */
#define OTHER UINT64_C(1)
#define TENSOR (UINT64_C(1) << 63)
#define LIST (UINT64_C(1) << 62)

enum { TENSOR_WORDS = 2, LIST_WORDS = 3 };

static inline uint64_t
head_of(const fd_tensor_fields *tensor)
{
    return TENSOR | (uint64_t)tensor->dtype << 8 | tensor->dimensions;
}

typedef struct list_key {
    uint64_t head; /* 0: not comparable, because the list may mix tensors and
                      other items */
    uint64_t hash;
    uint64_t elements;
} list_key;

static bool
is_number(const fd_operand_value *value)
{
    const fd_operand_tags *tags = &fd_operand_layout.tags;
    return value->tag == tags->integer || value->tag == tags->real
        || value->tag == tags->boolean;
}

static list_key
list_key_of(fd_operand_list inputs, uint32_t at)
{
    fd_operand_list list;
    if (!fd_operands_list(inputs, at, &list) || list.count == 0
        || is_number(list.values)) {
        return (list_key){OTHER, 0, 0};
    }
    const fd_operand_value *values = list.values;
    list_key key = {LIST | list.count, 0, 0};
    for (uint32_t i = 0; i < list.count; i++) {
        const fd_tensor_fields *tensor = fd_operand_tensor(&values[i]);
        if (tensor == NULL) {
            return (list_key){0, 0, 0};
        }
        const int64_t *sizes = fd_tensor_sizes(tensor);
        key.hash = fd_hash_next(key.hash, head_of(tensor));
        for (uint32_t k = 0; k < tensor->dimensions; k++) {
            key.hash = fd_hash_next(key.hash, (uint64_t)sizes[k]);
        }
        key.elements += (uint64_t)tensor->elements;
    }
    return key;
}

/* Store the words of one input and return their number. Return 0 if they do
 * not fit or if the input is a list that cannot be compared. */
static uint32_t
store_input(uint64_t *to, uint32_t capacity, fd_operand_list inputs,
            uint32_t at)
{
    const fd_operand_value *values = inputs.values;
    const fd_tensor_fields *tensor = fd_operand_tensor(&values[at]);
    if (tensor == NULL) {
        list_key list = list_key_of(inputs, at);
        uint32_t need = list.head == OTHER ? 1 : LIST_WORDS;
        if (list.head == 0 || need > capacity) {
            return 0;
        }
        to[0] = list.head;
        if (need > 1) {
            to[1] = list.hash;
            to[2] = list.elements;
        }
        return need;
    }
    uint32_t need = TENSOR_WORDS + (uint32_t)tensor->dimensions;
    if (need > capacity) {
        return 0;
    }
    to[0] = head_of(tensor);
    to[1] = (uint64_t)tensor->elements;
    memcpy(&to[2], fd_tensor_sizes(tensor), tensor->dimensions * sizeof *to);
    return need;
}

void
fd_operand_key_store(uint64_t *words, fd_operand_list inputs)
{
    uint32_t used = 1;
    words[0] = FD_NO_KEY;
    for (uint32_t i = 0; i < inputs.count; i++) {
        uint32_t more =
            store_input(words + used, FD_SITE_KEY - used, inputs, i);
        if (more == 0) {
            return;
        }
        used += more;
    }
    words[0] = inputs.count;
}

/* Words up to the first difference have the same meaning in both keys, so this
 * never reads beyond the end of the key. */
bool
fd_operand_key_is(const uint64_t *words, fd_operand_list inputs)
{
    const fd_operand_value *values = inputs.values;
    if (*words++ != inputs.count) {
        return false;
    }
    for (uint32_t i = 0; i < inputs.count; i++) {
        const fd_tensor_fields *tensor = fd_operand_tensor(&values[i]);
        if (tensor == NULL) {
            list_key list = values[i].tag == fd_operand_layout.tags.list
                              ? list_key_of(inputs, i)
                              : (list_key){OTHER, 0, 0};
            if (*words++ != list.head) {
                return false;
            }
            if (list.head != OTHER
                && (*words++ != list.hash || *words++ != list.elements)) {
                return false;
            }
            continue;
        }
        if (*words++ != head_of(tensor)
            || *words++ != (uint64_t)tensor->elements) {
            return false;
        }
        const int64_t *sizes = fd_tensor_sizes(tensor);
        for (uint32_t k = 0; k < tensor->dimensions; k++) {
            if (*words++ != (uint64_t)sizes[k]) {
                return false;
            }
        }
    }
    return true;
}
