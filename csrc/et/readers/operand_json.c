#include "et/readers/operand_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DEEPEST = 16, IS_TUPLE = 2 };

typedef struct facts {
    fd_buffer text;
    fd_operand_ids ids;
} facts;

static void put(facts *f, fd_words *words, int depth);

static void
put_text(facts *f, const char *text)
{
    fd_buffer_text(&f->text, text);
}

static void
put_other(facts *f, const fd_operand *operand)
{
    fd_buffer_format(&f->text, "{\"other\":%" PRIu32 "}", operand->kind);
}

static bool
put_double(facts *f, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        return false;
    }
    fd_buffer_format(&f->text, "%.17g", value);
    if (value == floor(value) && fabs(value) < 1e15) {
        put_text(f, ".0"); /* 2.0 is no integer */
    }
    return true;
}

/* How many elements of its storage a tensor reaches, if it holds any. */
static uint64_t
reach(const fd_operand *tensor)
{
    const uint64_t *sizes = tensor->more + FD_TENSOR_SIZES;
    uint64_t last = tensor->more[FD_TENSOR_OFFSET];
    if (tensor->more[FD_TENSOR_ELEMENTS] == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < tensor->number; i++) {
        last += (sizes[i] - 1) * sizes[tensor->number + i];
    }
    return last + 1;
}

static void
put_value(facts *f, const fd_operand *tensor, const char *dtype)
{
    uint64_t value = fd_operand_value(tensor);
    put_text(f, ",\"value\":");
    if (strcmp(dtype, "bool") == 0) {
        put_text(f, value != 0 ? "true" : "false");
    }
    else if (strcmp(dtype, "int64") == 0) {
        fd_buffer_format(&f->text, "%" PRId64, (int64_t)value);
    }
    else if (!put_double(f, value)) {
        put_text(f, "null");
    }
}

static void
put_tensor(facts *f, const fd_operand *tensor)
{
    const fd_dtype *dtype = fd_dtype_of(tensor);
    const uint64_t *sizes = tensor->more + FD_TENSOR_SIZES;
    fd_buffer_format(&f->text,
                     "{\"id\":%" PRIu32 ",\"storage\":%" PRIu32
                     ",\"at\":%" PRIu64 ",\"dtype\":\"%s\",\"shape\":[",
                     *f->ids.tensors++, *f->ids.storages++,
                     tensor->more[FD_TENSOR_ADDRESS], dtype->name);
    for (uint32_t i = 0; i < tensor->number; i++) {
        fd_buffer_format(&f->text, "%s%" PRId64, i > 0 ? "," : "",
                         (int64_t)sizes[i]);
    }
    fd_buffer_format(&f->text, "],\"bytes\":%" PRIu64 ",\"extent\":%" PRIu64,
                     tensor->more[FD_TENSOR_ELEMENTS] * dtype->bytes,
                     reach(tensor) * dtype->bytes);
    if ((tensor->head & FD_OPERAND_VALUED) != 0) {
        put_value(f, tensor, dtype->name);
    }
    put_text(f, "}");
}

static void
put_items(facts *f, fd_words *words, uint32_t count, int depth)
{
    for (uint32_t i = 0; i < count && words->at < words->end; i++) {
        put_text(f, i > 0 ? "," : "");
        put(f, words, depth + 1);
    }
}

static void
put_list(facts *f, const fd_operand *list, fd_words *words, int depth)
{
    bool tuple = (list->head >> 8 & IS_TUPLE) != 0;
    put_text(f, tuple ? "{\"tuple\":[" : "[");
    put_items(f, words, list->number, depth);
    put_text(f, tuple ? "]}" : "]");
}

static void
put_dict(facts *f, fd_words *words, uint32_t count, int depth)
{
    put_text(f, "{\"dict\":[");
    for (uint32_t i = 0; i + 1 < count && words->at < words->end; i += 2) {
        put_text(f, i > 0 ? ",[" : "[");
        put_items(f, words, 2, depth);
        put_text(f, "]");
    }
    put_text(f, "]}");
}

static void
put_scalar(facts *f, const fd_operand *operand)
{
    switch (operand->kind) {
    case FD_OPERAND_NONE:
        put_text(f, "null");
        return;
    case FD_OPERAND_BOOL:
        put_text(f, operand->number != 0 ? "true" : "false");
        return;
    case FD_OPERAND_INT:
        fd_buffer_format(&f->text, "%" PRId64, (int64_t)operand->more[0]);
        return;
    case FD_OPERAND_DOUBLE:
        if (put_double(f, operand->more[0])) {
            return;
        }
        break;
    case FD_OPERAND_TEXT:
        fd_buffer_json(&f->text, (const char *)operand->more, operand->number);
        return;
    case FD_OPERAND_DEVICE:
        put_text(f, "{\"device\":");
        fd_et_put_device(&f->text, operand->head);
        put_text(f, "}");
        return;
    default:
        break;
    }
    put_other(f, operand);
}

static void
put(facts *f, fd_words *words, int depth)
{
    fd_operand operand;
    if (depth > DEEPEST || !fd_words_next(words, &operand)) {
        put_text(f, "null"); /* the rest is damaged */
        words->at = words->end;
        return;
    }
    switch (operand.kind) {
    case FD_OPERAND_TENSOR:
        put_tensor(f, &operand);
        break;
    case FD_OPERAND_LIST:
        put_list(f, &operand, words, depth);
        break;
    case FD_OPERAND_DICT:
        put_dict(f, words, operand.number, depth);
        break;
    default:
        put_scalar(f, &operand);
    }
}

fd_status
fd_et_put_facts(fd_et *et, fd_words words, fd_operand_ids ids, uint32_t *text)
{
    facts f = {.ids = ids};
    put_text(&f, "[");
    put_items(&f, &words, UINT32_MAX, 0);
    put_text(&f, "]");
    return fd_text_pool_take(&et->texts, &f.text, text);
}
