#include "capture/operands/operand_shapes.h"

#include "base/hash.h"
#include "base/scalar_types.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 4, ROOM_FOR_END = 8, LIST_TEXT = 56 };

/* Kinds of inputs in the hash. */
enum { OTHER = 1, TENSOR, LIST, TRUTH, NUMBER };

static void
mix_word(fd_operand_shapes *to, uint64_t kind, uint64_t number)
{
    to->hash = fd_hash_next(to->hash, number << 3 | kind);
}

static void
add_tensor(const fd_tensor_fields *tensor, fd_operand_shapes *to)
{
    const int64_t *sizes = fd_tensor_sizes(tensor);
    uint64_t elements = (uint64_t)tensor->elements;
    mix_word(to, TENSOR, (uint64_t)tensor->dtype << 8 | tensor->dimensions);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        to->hash = fd_hash_next(to->hash, (uint64_t)sizes[i]);
    }
    to->elements += elements;
    to->bytes += elements * fd_dtype_at(tensor->dtype)->bytes;
}

/* Return whether a list contains tensors, by its first item: the items of a
 * list have one type. */
static bool
has_tensors(fd_operand_list list)
{
    fd_operand_list inner;
    return fd_operands_tensor(list, 0) != NULL
        || fd_operands_list(list, 0, &inner);
}

static void
add_value(fd_operand_list inputs, uint32_t at, fd_operand_shapes *to)
{
    bool truth;
    int64_t number;
    if (fd_operands_bool(inputs, at, &truth)) {
        mix_word(to, TRUTH, truth);
    }
    else if (fd_operands_int(inputs, at, &number)) {
        mix_word(to, NUMBER, (uint64_t)number);
    }
    else {
        mix_word(to, OTHER, 0);
    }
}

static void
add_all(fd_operand_list inputs, bool values, int depth, fd_operand_shapes *to)
{
    fd_operand_list list;
    for (uint32_t i = 0; i < inputs.count; i++) {
        const fd_tensor_fields *tensor = fd_operands_tensor(inputs, i);
        if (tensor != NULL) {
            add_tensor(tensor, to);
        }
        else if (depth < DEEPEST && fd_operands_list(inputs, i, &list)
                 && (values || has_tensors(list))) {
            mix_word(to, LIST, list.count);
            add_all(list, values, depth + 1, to);
        }
        else if (values) {
            add_value(inputs, i, to);
        }
        else {
            mix_word(to, OTHER, 0);
        }
    }
}

fd_operand_shapes
fd_operand_shapes_of(fd_operand_list inputs, bool values)
{
    fd_operand_shapes made = {0};
    add_all(inputs, values, 0, &made);
    return made;
}

/* A text being written. Its first `kept` bytes do not end with "_". */
typedef struct shapes_text {
    char *to;
    size_t used;
    size_t kept;
    size_t list_text; /* number of bytes after which a list is cut */
    bool cut;
} shapes_text;

static __attribute__((format(printf, 2, 3))) void
append_text(shapes_text *text, const char *format, ...)
{
    size_t capacity = FD_SHAPES_TEXT - ROOM_FOR_END - text->used;
    va_list values;
    va_start(values, format);
    int size = text->cut
                 ? -1
                 : vsnprintf(text->to + text->used, capacity, format, values);
    va_end(values);
    text->cut |= size < 0 || (size_t)size >= capacity;
    text->used += text->cut ? 0 : (size_t)size;
}

static void
write_tensor(shapes_text *text, const fd_tensor_fields *tensor)
{
    const int64_t *sizes = fd_tensor_sizes(tensor);
    append_text(text, "%s[", fd_dtype_at(tensor->dtype)->name);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        append_text(text, i == 0 ? "%" PRId64 : ",%" PRId64, sizes[i]);
    }
    append_text(text, "]");
}

/* Write a value. Return false for an input that is written as "_". */
static bool
write_value(shapes_text *text, fd_operand_list inputs, uint32_t at)
{
    bool truth;
    int64_t number;
    bool is_truth = fd_operands_bool(inputs, at, &truth);
    if (is_truth) {
        append_text(text, truth ? "True" : "False");
    }
    else if (fd_operands_int(inputs, at, &number)) {
        append_text(text, "%" PRId64, number);
        return true;
    }
    return is_truth;
}

static void
write_all(shapes_text *text, fd_operand_list inputs, bool values, int depth)
{
    fd_operand_list list;
    size_t begin = text->used;
    for (uint32_t i = 0; i < inputs.count; i++) {
        bool written = true;
        append_text(text, i == 0 ? "" : ", ");
        if (depth > 0 && text->used - begin > text->list_text) {
            append_text(text, "...%" PRIu64,
                        fd_operand_shapes_of(inputs, values).elements);
            return;
        }
        const fd_tensor_fields *tensor = fd_operands_tensor(inputs, i);
        if (tensor != NULL) {
            write_tensor(text, tensor);
        }
        else if (depth < DEEPEST && fd_operands_list(inputs, i, &list)
                 && (values || has_tensors(list))) {
            append_text(text, "[");
            write_all(text, list, values, depth + 1);
            append_text(text, "]");
        }
        else {
            written = values && write_value(text, inputs, i);
            append_text(text, written ? "" : "_");
        }
        text->kept = written && depth == 0 ? text->used : text->kept;
    }
}

void
fd_operand_shapes_text(fd_operand_list inputs, bool values,
                       char to[FD_SHAPES_TEXT])
{
    shapes_text text = {.to = to, .list_text = SIZE_MAX};
    write_all(&text, inputs, values, 0);
    if (text.cut) {
        text = (shapes_text){.to = to, .list_text = LIST_TEXT};
        write_all(&text, inputs, values, 0);
    }
    strcpy(to + (text.cut ? text.used : text.kept), text.cut ? "..." : "");
}

/* Values of the first word of an input. A list without tensors is KEY_OTHER. */
#define KEY_OTHER UINT64_C(1)
#define KEY_TENSOR (UINT64_C(1) << 63)
#define KEY_LIST (UINT64_C(1) << 62)

static inline uint64_t
head_of(const fd_tensor_fields *tensor)
{
    return KEY_TENSOR | (uint64_t)tensor->dtype << 8 | tensor->dimensions;
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
        return (list_key){KEY_OTHER, 0, 0};
    }
    list_key key = {KEY_LIST | list.count, 0, 0};
    for (uint32_t i = 0; i < list.count; i++) {
        const fd_tensor_fields *tensor = fd_operands_tensor(list, i);
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

/* A key that is stored, or compared. */
typedef struct key_cursor {
    uint64_t *at;
    const uint64_t *end;
    bool compares;
} key_cursor;

/* Store or compare a word. Return false if it does not fit, or differs. */
static inline bool
key_word(key_cursor *key, uint64_t word)
{
    if (key->at == key->end || (key->compares && *key->at != word)) {
        return false;
    }
    *key->at++ = word;
    return true;
}

/* Store or compare the words of inputs. Words up to the first difference have
 * the same meaning in both keys. Return false if there is no key, or the keys
 * differ. */
static inline __attribute__((always_inline)) bool
key_inputs(key_cursor key, fd_operand_list inputs)
{
    bool same = key_word(&key, inputs.count);
    for (uint32_t i = 0; i < inputs.count && same; i++) {
        const fd_tensor_fields *tensor = fd_operands_tensor(inputs, i);
        if (tensor == NULL) {
            bool is_list = inputs.values[i].tag == fd_operand_layout.tags.list;
            list_key list =
                is_list ? list_key_of(inputs, i) : (list_key){KEY_OTHER, 0, 0};
            same = list.head != 0 && key_word(&key, list.head)
                && (list.head == KEY_OTHER
                    || (key_word(&key, list.hash)
                        && key_word(&key, list.elements)));
            continue;
        }
        const int64_t *sizes = fd_tensor_sizes(tensor);
        same = key_word(&key, head_of(tensor))
            && key_word(&key, (uint64_t)tensor->elements);
        for (uint32_t k = 0; k < tensor->dimensions && same; k++) {
            same = key_word(&key, (uint64_t)sizes[k]);
        }
    }
    return same;
}

void
fd_operand_key_store(uint64_t *words, fd_operand_list inputs)
{
    if (!key_inputs((key_cursor){words, words + FD_SITE_KEY, false}, inputs)) {
        words[0] = FD_NO_KEY;
    }
}

bool
fd_operand_key_is(uint64_t *words, fd_operand_list inputs)
{
    return key_inputs((key_cursor){words, words + FD_SITE_KEY, true}, inputs);
}
