#include "et/readers/operand_json.h"

#include "json/json_writer.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 16, IS_TUPLE = 2 };

typedef struct facts {
    fd_json_writer json;
    fd_operand_ids ids;
} facts;

static void put_operands(facts *f, fd_words *words, int depth);

/* Write a double. Return false without writing if JSON has no such number. */
static bool
put_double(facts *f, const char *key, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        return false;
    }
    fd_json_put_double(&f->json, key, value);
    if (value == floor(value) && fabs(value) < 1e15) {
        fd_buffer_text(f->json.to, ".0"); /* keep it a float: 2.0 */
    }
    return true;
}

/* Return the number of elements of the storage up to the last one of a
 * tensor. */
static uint64_t
storage_reach(const fd_operand *tensor)
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
    if (strcmp(dtype, "bool") == 0) {
        fd_json_put_bool(&f->json, "value", value != 0);
    }
    else if (strcmp(dtype, "int64") == 0) {
        fd_json_put_i64(&f->json, "value", (int64_t)value);
    }
    else if (!put_double(f, "value", value)) {
        fd_json_put_null(&f->json, "value");
    }
}

static void
put_tensor(facts *f, const fd_operand *tensor)
{
    const fd_dtype *dtype = fd_dtype_of(tensor);
    const uint64_t *sizes = tensor->more + FD_TENSOR_SIZES;
    fd_json_writer *json = &f->json;
    fd_json_begin_object(json, NULL);
    fd_json_put_u64(json, "id", *f->ids.tensors++);
    fd_json_put_u64(json, "storage", *f->ids.storages++);
    fd_json_put_u64(json, "at", tensor->more[FD_TENSOR_ADDRESS]);
    fd_json_put_text(json, "dtype", dtype->name);
    fd_json_begin_array(json, "shape");
    for (uint32_t i = 0; i < tensor->number; i++) {
        fd_json_put_i64(json, NULL, (int64_t)sizes[i]);
    }
    fd_json_end_array(json);
    fd_json_put_u64(json, "bytes",
                    tensor->more[FD_TENSOR_ELEMENTS] * dtype->bytes);
    fd_json_put_u64(json, "extent", storage_reach(tensor) * dtype->bytes);
    if ((tensor->head & FD_OPERAND_VALUED) != 0) {
        put_value(f, tensor, dtype->name);
    }
    fd_json_end_object(json);
}

static void
put_items(facts *f, const char *key, fd_words *words, uint32_t count,
          int depth)
{
    fd_json_begin_array(&f->json, key);
    for (uint32_t i = 0; i < count && words->at < words->end; i++) {
        put_operands(f, words, depth + 1);
    }
    fd_json_end_array(&f->json);
}

static void
put_list(facts *f, const fd_operand *list, fd_words *words, int depth)
{
    if ((list->head >> 8 & IS_TUPLE) == 0) {
        put_items(f, NULL, words, list->number, depth);
        return;
    }
    fd_json_begin_object(&f->json, NULL);
    put_items(f, "tuple", words, list->number, depth);
    fd_json_end_object(&f->json);
}

static void
put_dict(facts *f, fd_words *words, uint32_t count, int depth)
{
    fd_json_begin_object(&f->json, NULL);
    fd_json_begin_array(&f->json, "dict");
    for (uint32_t i = 0; i + 1 < count && words->at < words->end; i += 2) {
        put_items(f, NULL, words, 2, depth);
    }
    fd_json_end_array(&f->json);
    fd_json_end_object(&f->json);
}

static void
put_scalar(facts *f, const fd_operand *operand)
{
    fd_json_writer *json = &f->json;
    switch (operand->kind) {
    case FD_OPERAND_NONE:
        fd_json_put_null(json, NULL);
        return;
    case FD_OPERAND_BOOL:
        fd_json_put_bool(json, NULL, operand->number != 0);
        return;
    case FD_OPERAND_INT:
        fd_json_put_i64(json, NULL, (int64_t)operand->more[0]);
        return;
    case FD_OPERAND_DOUBLE:
        if (put_double(f, NULL, operand->more[0])) {
            return;
        }
        break;
    case FD_OPERAND_TEXT:
        fd_json_put_bytes(json, NULL, (const char *)operand->more,
                          operand->number);
        return;
    case FD_OPERAND_DEVICE:
        fd_json_begin_object(json, NULL);
        fd_et_put_device(fd_json_put(json, "device"), operand->head);
        fd_json_end_object(json);
        return;
    default:
        break;
    }
    fd_json_begin_object(json, NULL);
    fd_json_put_u64(json, "other", operand->kind);
    fd_json_end_object(json);
}

static void
put_operands(facts *f, fd_words *words, int depth)
{
    fd_operand operand;
    if (depth > DEEPEST || !fd_words_next(words, &operand)) {
        fd_json_put_null(&f->json, NULL); /* the rest is damaged */
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

uint32_t
fd_et_put_facts(fd_et *et, fd_words words, fd_operand_ids ids)
{
    fd_buffer json = {.bytes = NULL};
    facts f = {.json = {.to = &json}, .ids = ids};
    put_items(&f, NULL, &words, UINT32_MAX, 0);
    return fd_et_take_buffer(et, &json);
}
