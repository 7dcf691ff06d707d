#include "capture/operands/operands.h"

#include "base/hidden_result.h"
#include "capture/torch/record_layout.h"

#include <string.h>

typedef fd_operand_value value;
typedef fd_tensor_fields shape;
typedef fd_operand_tags tags;

enum {
    STORAGE = 16,         /* offset in a TensorImpl: after its vtable and
                             reference counts */
    CONTENT = 16,         /* same offset in the box of a list or text */
    FIRST_SHAPE = 40,     /* lowest offset of the shape in a TensorImpl ... */
    LAST_SHAPE = 80,      /* ... and highest, in all versions */
    LAST_BOX = 40,        /* highest offset of TensorImpl in a PyObject */
    LAST_DATA = 64,       /* highest offset of the data in a StorageImpl */
    MOST_ELEMENTS = 4096, /* elements of a list, as in PyTorch's observer */
    MOST_BYTES = 8192,    /* bytes of a text, as in PyTorch's observer */
    MOST_WORDS = 16 * 1024, /* words of the inputs or of the outputs of a
                               call */
    DEEPEST = 4
};

struct fd_operand_layout fd_operand_layout;

/* At file scope as in record_layout.c: one probe, on one thread with the
 * GIL. */
static struct {
    fd_operands_sample sample;
    uint64_t strided; /* address of the result of as_strided */
    tags tags;
    uint16_t shape;
    uint32_t passed; /* bit mask with one bit per operator */
} probe;

fd_operand_list
fd_operands_of(const void *record)
{
    uint64_t at = fd_record_word(record, fd_record_layout->sequence + 8);
    uint64_t count = fd_record_word(record, fd_record_layout->sequence + 16);
    return (fd_operand_list){(const value *)(uintptr_t)at,
                             at == 0 ? 0 : (uint32_t)count};
}

/* Return the values between two addresses, which are stored at `place`. */
static fd_operand_list
list_at(const char *place)
{
    const value *ends[2];
    memcpy(ends, place, sizeof ends);
    return (fd_operand_list){
        ends[0], ends[0] == NULL ? 0 : (uint32_t)(ends[1] - ends[0])};
}

static fd_operand_list
outputs_of(const void *record)
{
    return list_at((const char *)record + fd_record_layout->forward_thread
                   - 24);
}

static fd_operand_list
boxed_list(const value *boxed)
{
    return list_at((const char *)(uintptr_t)boxed->payload + CONTENT);
}

static const char *
boxed_text(const value *boxed, size_t *size)
{
    const char *string = (const char *)(uintptr_t)boxed->payload + CONTENT;
    const char *text;
    memcpy(&text, string, sizeof text);
    memcpy(size, string + sizeof text, sizeof *size);
    return text;
}

/* Writing of operands as words. */

static bool
put_word(fd_op_log *log, uint64_t word)
{
    return log->words.count < MOST_WORDS
        && fd_vector_push(&log->words, word) == FD_OK;
}

static uint64_t
word_head(uint32_t kind, uint64_t number)
{
    return kind | number << 32;
}

bool
fd_operands_head(fd_op_log *log, uint32_t kind, uint64_t high)
{
    return put_word(log, word_head(kind, high));
}

bool
fd_operands_number(fd_op_log *log, uint32_t kind, uint64_t high,
                   uint64_t number)
{
    return put_word(log, word_head(kind, high)) && put_word(log, number);
}

bool
fd_operands_text(fd_op_log *log, const char *text, size_t size)
{
    bool whole = size <= MOST_BYTES;
    size = whole ? size : MOST_BYTES;
    uint32_t words = (uint32_t)(size + 7) / 8;
    if (log->words.count + words >= MOST_WORDS
        || !put_word(log, word_head(FD_OPERAND_TEXT, size))
        || fd_vector_reserve(&log->words, words) != FD_OK) {
        return false;
    }
    uint64_t *to = log->words.list + log->words.count;
    memset(to, 0, words * sizeof *to);
    memcpy(to, text, size);
    log->words.count += words;
    return whole;
}

static uint64_t
device_bits(int8_t type, int8_t index)
{
    return (uint64_t)(uint8_t)type << 16 | (uint64_t)(uint8_t)index << 24;
}

/* Get the element of a tensor without dimensions, such as 1 in `x + 1`. Return
 * false if it is not a number or not in host memory. */
static bool
value_of(const shape *s, uint64_t storage, uint64_t *number)
{
    enum { INTEGER = 4, REAL = 7, BOOLEAN = 11 }; /* c10::ScalarType */
    bool wide = s->dtype == INTEGER || s->dtype == REAL;
    const char *data;
    if (s->dimensions != 0 || s->elements != 1 || s->device != 0
        || s->offset < 0 || storage == 0 || (!wide && s->dtype != BOOLEAN)) {
        return false;
    }
    memcpy(&data, (const char *)(uintptr_t)storage + fd_operand_layout.data,
           sizeof data);
    if (data == NULL) {
        return false;
    }
    size_t size = wide ? sizeof *number : 1;
    *number = 0;
    memcpy(number, data + (size_t)s->offset * size, size);
    return true;
}

static bool
put_tensor(fd_op_log *log, uint64_t address)
{
    const char *tensor = (const char *)(uintptr_t)address;
    shape found;
    if (address == 0) {
        return fd_operands_number(log, FD_OPERAND_UNDEFINED, 0, 0);
    }
    memcpy(&found, tensor + fd_operand_layout.shape, sizeof found);
    if (!found.has_device || found.dimensions > FD_MOST_DIMENSIONS) {
        return fd_operands_number(log, FD_OPERAND_UNDEFINED, 0, address);
    }
    uint32_t size = (uint32_t)found.dimensions;
    const int64_t *sizes =
        size > FD_INLINE_DIMENSIONS ? found.elsewhere : found.here;
    const int64_t *strides =
        sizes + (size > FD_INLINE_DIMENSIONS ? size : FD_INLINE_DIMENSIONS);
    uint32_t need = 5 + 2 * size;
    if (log->words.count + need >= MOST_WORDS
        || fd_vector_reserve(&log->words, need + 1) != FD_OK) {
        return false;
    }
    uint64_t *to = log->words.list + log->words.count;
    to[0] = word_head(FD_OPERAND_TENSOR, size)
          | (uint64_t)(found.dtype & 0xff) << 8
          | device_bits(found.device, found.device_index);
    to[1] = address;
    memcpy(&to[2], tensor + STORAGE, sizeof to[2]);
    to[3] = (uint64_t)found.offset;
    to[4] = (uint64_t)found.elements;
    memcpy(&to[5], sizes, size * sizeof *sizes);
    memcpy(&to[5 + size], strides, size * sizeof *strides);
    if (value_of(&found, to[2], &to[5 + 2 * size])) {
        to[0] |= FD_OPERAND_VALUED;
        need++;
    }
    log->words.count += need;
    return true;
}

bool
fd_operands_object(fd_op_log *log, const PyObject *tensor)
{
    uint64_t address;
    memcpy(&address, (const char *)tensor + fd_operand_layout.box,
           sizeof address);
    return put_tensor(log, address);
}

static bool put_values(fd_op_log *log, fd_operand_list list, int depth);

static bool
put_list(fd_op_log *log, fd_operand_list list, int depth)
{
    bool whole = list.count <= MOST_ELEMENTS;
    list.count = whole ? list.count : MOST_ELEMENTS;
    uint64_t cut = whole ? 0 : 1U << 8;
    return put_word(log, word_head(FD_OPERAND_LIST, list.count) | cut)
        && put_values(log, list, depth) && whole;
}

static bool
put_value(fd_op_log *log, const value *v, int depth)
{
    const tags *tag = &fd_operand_layout.tags;
    if (v->tag == tag->tensor) {
        return put_tensor(log, v->payload);
    }
    if (v->tag == tag->none) {
        return put_word(log, word_head(FD_OPERAND_NONE, 0));
    }
    if (v->tag == tag->integer) {
        return fd_operands_number(log, FD_OPERAND_INT, 0, v->payload);
    }
    if (v->tag == tag->real) {
        return fd_operands_number(log, FD_OPERAND_DOUBLE, 0, v->payload);
    }
    if (v->tag == tag->boolean) {
        return put_word(log, word_head(FD_OPERAND_BOOL, v->payload & 1));
    }
    if (v->tag == tag->list && depth < DEEPEST) {
        return put_list(log, boxed_list(v), depth + 1);
    }
    if (v->tag == tag->text) {
        size_t size;
        const char *text = boxed_text(v, &size);
        return fd_operands_text(log, text, size);
    }
    if (v->tag == tag->device) {
        return put_word(log, word_head(FD_OPERAND_DEVICE, 0)
                                 | device_bits((int8_t)v->payload,
                                               (int8_t)(v->payload >> 8)));
    }
    return fd_operands_number(log, FD_OPERAND_OTHER, v->tag, v->payload);
}

static bool
put_values(fd_op_log *log, fd_operand_list list, int depth)
{
    bool whole = true;
    for (uint32_t i = 0; i < list.count; i++) {
        whole = put_value(log, &list.values[i], depth) && whole;
    }
    return whole;
}

bool
fd_operands_inputs(fd_op_log *log, const void *record)
{
    return put_values(log, fd_operands_of(record), 0);
}

bool
fd_operands_outputs(fd_op_log *log, const void *record)
{
    return put_values(log, outputs_of(record), 0);
}

/* Reading of operands in place. */

static const value *
value_at(fd_operand_list list, uint32_t at, uint32_t tag)
{
    const value *v = list.values + at;
    return at < list.count && v->tag == tag ? v : NULL;
}

bool
fd_operands_bool(fd_operand_list list, uint32_t at, bool *to)
{
    const value *v = value_at(list, at, fd_operand_layout.tags.boolean);
    *to = v != NULL && (v->payload & 1) != 0;
    return v != NULL;
}

bool
fd_operands_int(fd_operand_list list, uint32_t at, int64_t *to)
{
    const value *v = value_at(list, at, fd_operand_layout.tags.integer);
    *to = v != NULL ? (int64_t)v->payload : 0;
    return v != NULL;
}

bool
fd_operands_list(fd_operand_list list, uint32_t at, fd_operand_list *to)
{
    const value *v = value_at(list, at, fd_operand_layout.tags.list);
    if (v == NULL) {
        return false;
    }
    *to = boxed_list(v);
    return true;
}

bool
fd_operands_box(fd_operand_list list, uint32_t at, uint64_t *to)
{
    const value *v = list.values + at;
    *to = at < list.count ? v->payload : 0;
    return at < list.count && v->tag != fd_operand_layout.tags.tensor
        && v->tag != fd_operand_layout.tags.list;
}

fd_operand_list
fd_operands_item(fd_operand_list list, uint32_t at)
{
    return at < list.count ? (fd_operand_list){list.values + at, 1}
                           : (fd_operand_list){NULL, 0};
}

/* Self-test. */

static bool
is_view(const value *v)
{
    return v->tag == probe.tags.tensor && v->payload == probe.strided;
}

/* as_strided(t, [3, 1, 2], [20, 1, 5], 7) */
static bool
check_strided(fd_operand_list in)
{
    static const uint64_t sizes[] = {3, 1, 2};
    uint64_t storage;
    if (in.count != 4 || in.values[0].payload != probe.sample.tensor
        || in.values[1].tag != in.values[2].tag || in.values[3].payload != 7) {
        return false;
    }
    memcpy(&storage, (const char *)(uintptr_t)probe.sample.tensor + STORAGE,
           sizeof storage);
    probe.tags.tensor = in.values[0].tag;
    probe.tags.list = in.values[1].tag;
    probe.tags.integer = in.values[3].tag;
    fd_operand_list list = boxed_list(&in.values[1]);
    bool good = storage == probe.sample.storage && list.count == 3;
    for (int i = 0; good && i < 3; i++) {
        good = list.values[i].payload == sizes[i]
            && list.values[i].tag == probe.tags.integer;
    }
    return good;
}

/* div(v, v, rounding_mode="floor") */
static bool
check_text(fd_operand_list in)
{
    size_t size;
    if (in.count != 3 || !is_view(&in.values[0])) {
        return false;
    }
    probe.tags.text = in.values[2].tag;
    const char *text = boxed_text(&in.values[2], &size);
    return size == 5 && memcmp(text, "floor", 5) == 0;
}

/* sum(v, [0], True), and no dtype */
static bool
check_bool(fd_operand_list in)
{
    if (in.count != 4 || !is_view(&in.values[0])) {
        return false;
    }
    probe.tags.boolean = in.values[2].tag;
    probe.tags.none = in.values[3].tag;
    return (in.values[2].payload & 0xff) == 1;
}

/* fill_(v, 0.5) */
static bool
check_real(fd_operand_list in)
{
    double half = 0.5;
    if (in.count != 2 || !is_view(&in.values[0])) {
        return false;
    }
    probe.tags.real = in.values[1].tag;
    return memcmp(&in.values[1].payload, &half, sizeof half) == 0;
}

/* empty([2], no dtype, no layout, "cpu", ...) */
static bool
check_device(fd_operand_list in)
{
    if (in.count != 6) {
        return false;
    }
    probe.tags.device = in.values[3].tag;
    return (in.values[3].payload & 0xff) == 0;
}

static const struct {
    const char *name;
    bool (*check)(fd_operand_list in);
} checks[] = {
    {"aten::as_strided", check_strided}, {"aten::div", check_text},
    {"aten::sum", check_bool},           {"aten::fill_", check_real},
    {"aten::empty", check_device},
};

enum { CHECKS = sizeof checks / sizeof *checks, SHAPE = 1U << CHECKS };

FD_HIDDEN_RESULT_DEFINE(start_record);

FD_HIDDEN_RESULT
start_record(void **result, const void *record)
{
    const char *name = fd_torch.record_name(record);
    *result = NULL;
    for (uint32_t i = 0; i < CHECKS; i++) {
        /* The other checks rely on the layout that the first one finds. */
        if (strcmp(name, checks[i].name) == 0
            && (i == 0 || (probe.passed & SHAPE) != 0)
            && checks[i].check(fd_operands_of(record))) {
            probe.passed |= 1U << i;
        }
    }
    return result;
}

static bool
is_shape(const void *tensor, int at)
{
    static const int64_t wanted[] = {3, 3, 1, 2};
    static const int64_t strides[] = {20, 1, 5};
    shape s;
    memcpy(&s, (const char *)tensor + at, sizeof s);
    return s.dimensions == 3 && memcmp(s.here, wanted + 1, 24) == 0
        && memcmp(s.here + FD_INLINE_DIMENSIONS, strides, 24) == 0
        && s.offset == 7 && s.elements == 6 && s.dtype == 7 && s.device == 0
        && s.has_device == 1;
}

static void
end_record(const void *record, void *context)
{
    (void)context;
    fd_operand_list out = outputs_of(record);
    if (strcmp(fd_torch.record_name(record), checks[0].name) != 0
        || (probe.passed & 1) == 0 || out.count != 1
        || out.values[0].tag != probe.tags.tensor) {
        return;
    }
    probe.strided = out.values[0].payload;
    /* Stop at the first match: the end of the object is somewhere after its
     * shape. */
    for (int at = FIRST_SHAPE; at <= LAST_SHAPE; at += 8) {
        if (is_shape((const void *)(uintptr_t)probe.strided, at)) {
            probe.shape = (uint16_t)at;
            probe.passed |= SHAPE;
            return;
        }
    }
}

/* Return the offset, from `first` to `last`, of the first word that equals
 * `wanted`, or 0. */
static uint16_t
offset_of(const void *object, uint64_t wanted, int first, int last)
{
    uint64_t word;
    for (int at = first; at <= last; at += 8) {
        memcpy(&word, (const char *)object + at, sizeof word);
        if (word == wanted) {
            return (uint16_t)at;
        }
    }
    return 0;
}

static bool
find_places(const fd_operands_sample *sample)
{
    fd_operand_layout.box =
        offset_of(sample->object, sample->tensor, sizeof(PyObject), LAST_BOX);
    fd_operand_layout.data =
        offset_of((const void *)(uintptr_t)sample->storage, sample->data,
                  STORAGE, LAST_DATA);
    return fd_operand_layout.box != 0 && fd_operand_layout.data != 0;
}

fd_status
fd_operands_attach(fd_session *session, fd_thread *thread,
                   const fd_operands_sample *sample, PyObject *run,
                   fd_error *error)
{
    fd_record_callback callback = {
        .start = FD_HIDDEN_RESULT_ENTRY(start_record),
        .end = end_record,
        .sampling_probability = 1.0,
        .needs_inputs = true,
        .needs_outputs = true,
    };
    if (fd_operand_layout.shape == 0) {
        fd_status status = fd_libtorch_find_printer(error);
        if (status != FD_OK) {
            return status;
        }
        memset(callback.scopes, 1, sizeof callback.scopes);
        memset(&probe, 0, sizeof probe);
        probe.sample = *sample;
        uint64_t handle = fd_torch.add_thread_callback(callback);
        PyObject *returned = fd_session_call(session, thread, run, NULL);
        fd_torch.remove_callback(handle);
        Py_XDECREF(returned);
        if (probe.passed != 2 * SHAPE - 1 || !find_places(sample)) {
            return fd_fail(error, FD_EINVAL,
                           "the self-test on operands failed (%#x): execution "
                           "traces need another version of PyTorch",
                           probe.passed);
        }
        fd_operand_layout.tags = probe.tags;
        fd_operand_layout.shape = probe.shape;
    }
    return FD_OK;
}
