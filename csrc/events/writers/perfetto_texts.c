#include "events/writers/perfetto_texts.h"

#include "base/budget.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"
#include "json/json_text.h"

#include <string.h>

static void
pool_clear(fd_perfetto_pool *pool)
{
    fd_text_pool_clear(&pool->texts);
    fd_vector_clear(&pool->ids);
}

void
fd_perfetto_texts_clear(fd_perfetto_texts *texts)
{
    pool_clear(&texts->names);
    pool_clear(&texts->categories);
    pool_clear(&texts->notes);
    fd_buffer_clear(&texts->scratch);
}

/* Intern a text. `*id` is 0 if it is empty or the table is full. */
static fd_status
find_text(fd_text_pool *pool, fd_span text, uint32_t *id)
{
    size_t size = fd_span_size(text);
    *id = 0;
    return size == 0 || pool->texts.count >= fd_budget(FD_PERFETTO_TEXTS)
                || !fd_buffer_fits(&pool->bytes, size,
                                   fd_budget(FD_PERFETTO_TEXT_BYTES))
             ? FD_OK
             : fd_text_pool_add(pool, text.from, size, id);
}

static fd_status
remember_number(fd_perfetto_pool *pool, uint32_t number, uint32_t id)
{
    fd_status status = FD_OK;
    while (status == FD_OK && pool->ids.count <= number) {
        status = fd_vector_push(&pool->ids, 0);
    }
    if (status == FD_OK) {
        pool->ids.list[number] = id;
    }
    return status;
}

fd_status
fd_perfetto_text(fd_perfetto_pool *pool, fd_span text, uint32_t number,
                 uint32_t iid_field, uint32_t text_field, fd_buffer *to)
{
    uint32_t id;
    fd_status status = find_text(&pool->texts, text, &id);
    if (status == FD_OK && id != 0) {
        fd_proto_number(to, iid_field, id);
    }
    else if (status == FD_OK) {
        fd_proto_bytes(to, text_field, text.from, fd_span_size(text));
    }
    if (status == FD_OK && number != 0) {
        status = remember_number(pool, number, id);
    }
    return fd_then(status, to->status);
}

fd_span
fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value)
{
    fd_span inside = fd_span_inside(value);
    size_t size = fd_span_size(inside);
    bool plain = true;
    for (size_t i = 0; i < size && plain; i++) {
        plain = inside.from[i] != '\\' && (unsigned char)inside.from[i] < 0x80;
    }
    if (plain) {
        return inside;
    }
    texts->scratch.size = 0;
    fd_json_string(inside, &texts->scratch);
    return (fd_span){texts->scratch.bytes,
                     texts->scratch.bytes + texts->scratch.size};
}

/* End the message that consists of the bytes from `from` to the end of the
 * buffer: insert its tag and length before it. */
static void
end_message(fd_buffer *to, uint32_t field, size_t from)
{
    uint8_t head[20];
    size_t size = to->size - from;
    uint8_t *end =
        fd_proto_put(fd_proto_put(head, field << 3 | FD_PROTO_BYTES), size);
    size_t more = (size_t)(end - head);
    fd_buffer_bytes(to, head, more);
    if (to->status == FD_OK) {
        memmove(to->bytes + from + more, to->bytes + from, size);
        memcpy(to->bytes + from, head, more);
    }
}

/* Append a number as an integer or a double; return false if it is neither. */
static bool
put_real(fd_span number, uint32_t field, fd_buffer *to)
{
    double value;
    size_t size = fd_span_size(number);
    bool is_real = memchr(number.from, '.', size) != NULL
                || memchr(number.from, 'e', size) != NULL
                || memchr(number.from, 'E', size) != NULL;
    is_real = is_real && fd_span_double(number, &value);
    if (is_real) {
        fd_proto_fixed(to, field, &value);
    }
    return is_real;
}

bool
fd_perfetto_number(fd_span number, uint32_t whole_field, uint32_t real_field,
                   fd_buffer *to)
{
    uint64_t whole;
    if (fd_span_size(number) == 0) {
        return false;
    }
    bool negative = *number.from == '-';
    if (fd_span_u64((fd_span){number.from + negative, number.to}, &whole)
        && whole <= INT64_MAX) {
        fd_proto_number(to, whole_field, negative ? 0 - whole : whole);
        return true;
    }
    return put_real(number, real_field, to);
}

/* Append a number; one too large for both types is written as text. */
static void
put_number(fd_buffer *to, fd_span number)
{
    uint64_t whole;
    if (fd_span_u64(number, &whole) && whole > INT64_MAX) {
        fd_proto_number(to, FD_PB_NOTE_UINT, whole);
    }
    else if (!fd_perfetto_number(number, FD_PB_NOTE_INT, FD_PB_NOTE_DOUBLE,
                                 to)) {
        fd_proto_bytes(to, FD_PB_NOTE_STRING, number.from,
                       fd_span_size(number));
    }
}

/* Append a scalar. null has no value, and an empty container only a type. */
static void
put_scalar(fd_perfetto_texts *texts, fd_span value, fd_buffer *to)
{
    char c = *value.from;
    if (c == '"') {
        fd_span text = fd_perfetto_spell(texts, value);
        fd_proto_bytes(to, FD_PB_NOTE_STRING, text.from, fd_span_size(text));
    }
    else if (c == 't' || c == 'f') {
        fd_proto_number(to, FD_PB_NOTE_BOOL, c == 't');
    }
    else if ((c >= '0' && c <= '9')
             || (c == '-' && value.from[1] != 'I' && value.from[1] != 'N'
                 && value.from[1] != 'i' && value.from[1] != 'n')) {
        put_number(to, value);
    }
}

static void
put_empty(fd_buffer *to, uint64_t type)
{
    size_t from = to->size;
    fd_proto_number(to, FD_PB_NESTED_TYPE, type);
    end_message(to, FD_PB_NOTE_NESTED, from);
}

static fd_status put_value(fd_perfetto_texts *texts, fd_scan *scan,
                           fd_buffer *to);

static fd_status
put_items(fd_perfetto_texts *texts, fd_scan *scan, fd_buffer *to)
{
    fd_status status = FD_OK;
    scan->at++;
    fd_scan_space(scan);
    bool any = *scan->at != ']';
    for (bool more = any; more && status == FD_OK;) {
        size_t from = to->size;
        status = put_value(texts, scan, to);
        end_message(to, FD_PB_NOTE_ITEM, from);
        fd_scan_space(scan);
        more = *scan->at == ',';
        scan->at += more;
    }
    scan->at++;
    if (!any) {
        put_empty(to, FD_PB_NESTED_ARRAY);
    }
    return status;
}

/* Append the members of an object as fields. */
static fd_status
put_members(fd_perfetto_texts *texts, fd_scan *scan, uint32_t field, bool *any,
            fd_buffer *to)
{
    fd_status status = FD_OK;
    fd_span key;
    scan->at++;
    *any = false;
    while (status == FD_OK
           && fd_scan_member(scan, !*any, &key) == FD_SCAN_OK) {
        size_t from = to->size;
        *any = true;
        status = fd_perfetto_text(
            &texts->notes,
            fd_perfetto_spell(texts, (fd_span){key.from - 1, key.to + 1}), 0,
            FD_PB_NOTE_NAME_IID, FD_PB_NOTE_NAME, to);
        fd_then(status, put_value(texts, scan, to));
        end_message(to, field, from);
    }
    return status;
}

/* Append the value at `scan`, which must be complete JSON. */
static fd_status
put_value(fd_perfetto_texts *texts, fd_scan *scan, fd_buffer *to)
{
    fd_scan_space(scan);
    if (*scan->at == '[') {
        return put_items(texts, scan, to);
    }
    if (*scan->at == '{') {
        bool any;
        fd_status status =
            put_members(texts, scan, FD_PB_NOTE_ENTRY, &any, to);
        if (!any) {
            put_empty(to, FD_PB_NESTED_DICT);
        }
        return status;
    }
    const char *from = scan->at;
    if (fd_scan_value(scan) != FD_SCAN_OK) {
        return FD_EFORMAT;
    }
    put_scalar(texts, (fd_span){from, scan->at}, to);
    return texts->scratch.status;
}

fd_status
fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object, fd_buffer *to)
{
    bool any;
    if (object.from == NULL || *object.from != '{') {
        return FD_OK;
    }
    fd_scan scan = {.at = object.from, .end = object.to, .forgets = true};
    fd_status status = put_members(texts, &scan, FD_PB_EVENT_NOTE, &any, to);
    return fd_then(status, to->status);
}
