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
add_tensor(const fd_tensor_view *tensor, fd_operand_shapes *to)
{
    uint64_t elements = (uint64_t)tensor->elements;
    mix_word(to, TENSOR, (uint64_t)tensor->dtype << 8 | tensor->dimensions);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        to->hash = fd_hash_next(to->hash, (uint64_t)tensor->sizes[i]);
    }
    to->elements += elements;
    to->bytes += elements * fd_dtype_at(tensor->dtype)->bytes;
}

/* Return whether a list contains tensors, by its first item: the items of a
 * list have one type. */
static bool
has_tensors(fd_operand_list list)
{
    fd_tensor_view tensor;
    fd_operand_list inner;
    return fd_operands_tensor(list, 0, &tensor)
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
    fd_tensor_view tensor;
    fd_operand_list list;
    for (uint32_t i = 0; i < inputs.count; i++) {
        if (fd_operands_tensor(inputs, i, &tensor)) {
            add_tensor(&tensor, to);
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
write_tensor(shapes_text *text, const fd_tensor_view *tensor)
{
    append_text(text, "%s[", fd_dtype_at(tensor->dtype)->name);
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        append_text(text, i == 0 ? "%" PRId64 : ",%" PRId64, tensor->sizes[i]);
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
    fd_tensor_view tensor;
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
        if (fd_operands_tensor(inputs, i, &tensor)) {
            write_tensor(text, &tensor);
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
