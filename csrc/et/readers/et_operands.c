#include "et/readers/et_operands.h"

#include "json/json_writer.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 16, IS_TUPLE = 2 };

/* Output of the four parallel lists. */
typedef struct listing {
    fd_buffer values;
    fd_buffer shapes;
    fd_buffer types;
    fd_buffer strides;
    fd_operand_ids ids;
    bool layers; /* also what graphs of layers need */
} listing;

/* Names of c10::DeviceType. */
static const char *const devices[] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
};

static const fd_dtype *
dtype_of(const fd_operand *tensor)
{
    return fd_dtype_at(tensor->head >> 8 & 0xff);
}

static const fd_chunk_view *
chunk_at(const fd_chunks *file, uint64_t offset)
{
    uint64_t page = offset / FD_PAGE;
    uint32_t at = offset < file->size ? file->by_page[page] : 0;
    return at == 0 ? NULL : &file->list.list[at - 1];
}

fd_words
fd_words_at(const fd_chunks *file, uint64_t offset, uint32_t size)
{
    const fd_chunk_view *view = chunk_at(file, offset);
    fd_words none = {NULL, NULL};
    if (size == 0 || offset % sizeof(uint64_t) != 0 || view == NULL
        || view->header.kind != FD_CHUNK_OPERANDS) {
        return none;
    }
    uint64_t first = (uint64_t)((const char *)view->records - file->base);
    uint64_t at = (offset - first) / sizeof(uint64_t);
    if (offset < first || at > view->used || size > view->used - at) {
        return none;
    }
    const uint64_t *words = (const uint64_t *)view->records + at;
    return (fd_words){words, words + size};
}

bool
fd_words_tensor(fd_words *words, fd_operand *tensor)
{
    while (fd_words_next(words, tensor)) {
        if (tensor->kind == FD_OPERAND_TENSOR) {
            return true;
        }
    }
    return false;
}

static void
put_numbers(fd_buffer *to, const uint64_t *numbers, uint32_t count)
{
    fd_json_writer w = {.to = to};
    fd_json_begin_array(&w, NULL);
    for (uint32_t i = 0; i < count; i++) {
        fd_json_put_i64(&w, NULL, (int64_t)numbers[i]);
    }
    fd_json_end_array(&w);
}

/* Write the device in the first word of an operand as a JSON text: "cuda:0". */
static void
put_device(fd_buffer *to, uint64_t head)
{
    uint32_t kind = head >> 16 & 0xff;
    int8_t index = (int8_t)(head >> 24 & 0xff);
    size_t known = sizeof devices / sizeof *devices;
    fd_buffer_text(to, "\"");
    fd_buffer_text(to, kind < known ? devices[kind] : "unknown");
    if (index >= 0) {
        fd_buffer_format(to, ":%d", index);
    }
    fd_buffer_text(to, "\"");
}

/* Write a double; JSON has no infinities. */
static void
put_double(fd_json_writer *w, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value)) {
        fd_json_put_double(w, NULL, value);
    }
    else {
        fd_json_put_text(w, NULL,
                         isnan(value) ? "nan"
                         : value > 0  ? "inf"
                                      : "-inf");
    }
}

/* Write the address of a tensor, and its only element. */
static void
put_facts(fd_json_writer *w, const fd_operand *tensor, const char *dtype)
{
    fd_json_put_u64(w, NULL, tensor->more[FD_TENSOR_ADDRESS]);
    if ((tensor->head & FD_OPERAND_VALUED) == 0) {
        return;
    }
    uint64_t value = fd_operand_value(tensor);
    if (strcmp(dtype, "bool") == 0) {
        fd_json_put_bool(w, NULL, value != 0);
    }
    else if (strcmp(dtype, "int64") == 0) {
        fd_json_put_i64(w, NULL, (int64_t)value);
    }
    else {
        put_double(w, value);
    }
}

static void
put_tensor(listing *l, const fd_operand *operand)
{
    const fd_dtype *dtype = dtype_of(operand);
    const uint64_t *sizes = operand->more + FD_TENSOR_SIZES;
    fd_json_writer w = {.to = &l->values};
    fd_json_begin_array(&w, NULL);
    fd_json_put_u64(&w, NULL, *l->ids.tensors++);
    fd_json_put_u64(&w, NULL, *l->ids.storages++);
    fd_json_put_i64(&w, NULL, (int64_t)operand->more[FD_TENSOR_OFFSET]);
    fd_json_put_i64(&w, NULL, (int64_t)operand->more[FD_TENSOR_ELEMENTS]);
    fd_json_put_u64(&w, NULL, dtype->bytes);
    put_device(fd_json_put(&w, NULL), operand->head);
    if (l->layers) {
        put_facts(&w, operand, dtype->name);
    }
    fd_json_end_array(&w);
    put_numbers(&l->shapes, sizes, operand->number);
    put_numbers(&l->strides, sizes + operand->number, operand->number);
    fd_buffer_text(&l->types, "Tensor(");
    fd_buffer_text(&l->types, l->layers ? dtype->name : dtype->cpp);
    fd_buffer_text(&l->types, ")");
}

static void
put_scalar(listing *l, const fd_operand *operand)
{
    fd_json_writer w = {.to = &l->values};
    fd_buffer_text(&l->shapes, "[]");
    fd_buffer_text(&l->strides, "[]");
    switch (operand->kind) {
    case FD_OPERAND_INT:
        fd_json_put_i64(&w, NULL, (int64_t)operand->more[0]);
        fd_buffer_text(&l->types, "Int");
        break;
    case FD_OPERAND_DOUBLE:
        put_double(&w, operand->more[0]);
        fd_buffer_text(&l->types, "Double");
        break;
    case FD_OPERAND_BOOL:
        fd_json_put_bool(&w, NULL, operand->number != 0);
        fd_buffer_text(&l->types, "Bool");
        break;
    case FD_OPERAND_TEXT:
        fd_buffer_json(&l->values, (const char *)operand->more,
                       operand->number);
        fd_buffer_text(&l->types, "String");
        break;
    case FD_OPERAND_DEVICE:
        put_device(&l->values, operand->head);
        fd_buffer_text(&l->types, "Device");
        break;
    case FD_OPERAND_UNDEFINED:
        fd_buffer_text(&l->values, "[0,0,0,0,0,\"\"]");
        fd_buffer_text(&l->types, "Tensor(nullptr (uninitialized))");
        break;
    case FD_OPERAND_NONE:
        fd_json_put_text(&w, NULL, "<None>");
        fd_buffer_text(&l->types, "None");
        break;
    default:
        fd_json_put_text(&w, NULL, "<Object>");
        fd_buffer_text(&l->types, "Object");
    }
}

static bool put_operand(listing *l, fd_words *words, int depth);

static void
put_all(listing *l, const char *text)
{
    fd_buffer_text(&l->values, text);
    fd_buffer_text(&l->shapes, text);
    fd_buffer_text(&l->strides, text);
}

/* Append a list; its types are one text: "GenericList[Int,Int]". */
static void
put_list(listing *l, fd_words *words, const fd_operand *list, int depth)
{
    bool tuple = l->layers && (list->head >> 8 & IS_TUPLE) != 0;
    put_all(l, "[");
    fd_buffer_text(&l->types, list->kind == FD_OPERAND_DICT ? "Dict["
                              : tuple                       ? "Tuple["
                                                            : "GenericList[");
    for (uint32_t i = 0; i < list->number && words->at < words->end; i++) {
        if (i > 0) {
            put_all(l, ",");
            fd_buffer_text(&l->types, ",");
        }
        if (!put_operand(l, words, depth)) {
            put_all(l, "[]");
            break;
        }
    }
    put_all(l, "]");
    fd_buffer_text(&l->types, "]");
}

static bool
put_operand(listing *l, fd_words *words, int depth)
{
    fd_operand operand;
    if (depth > DEEPEST || !fd_words_next(words, &operand)) {
        return false;
    }
    if (operand.kind == FD_OPERAND_LIST
        || (l->layers && operand.kind == FD_OPERAND_DICT)) {
        put_list(l, words, &operand, depth + 1);
    }
    else if (operand.kind == FD_OPERAND_TENSOR) {
        put_tensor(l, &operand);
    }
    else {
        put_scalar(l, &operand);
    }
    return true;
}

void
fd_et_put_operands(fd_et *et, fd_words words, fd_operand_ids ids, bool layers,
                   fd_et_io *io)
{
    listing l = {.ids = ids, .layers = layers};
    const char *between = "";
    put_all(&l, "[");
    fd_buffer_text(&l.types, "[");
    while (words.at < words.end) {
        put_all(&l, between);
        fd_buffer_text(&l.types, between);
        fd_buffer_text(&l.types, "\"");
        if (!put_operand(&l, &words, 0)) {
            put_all(&l, "[]"); /* the rest is damaged */
            words.at = words.end;
        }
        fd_buffer_text(&l.types, "\"");
        between = ",";
    }
    put_all(&l, "]");
    fd_buffer_text(&l.types, "]");
    fd_status status[] = {
        fd_text_pool_take(&et->texts, &l.values, &io->values),
        fd_text_pool_take(&et->texts, &l.shapes, &io->shapes),
        fd_text_pool_take(&et->texts, &l.types, &io->types),
        fd_text_pool_take(&et->texts, &l.strides, &io->strides)};
    for (int i = 0; i < 4; i++) {
        fd_arena_check(&et->arena, status[i]);
    }
}
