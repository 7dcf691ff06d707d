#include "events/writers/perfetto_texts.h"

#include "base/budget.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"
#include "json/json_text.h"

#include <string.h>

void
fd_perfetto_texts_clear(fd_perfetto_texts *texts)
{
    for (int i = 0; i < FD_PERFETTO_KINDS; i++) {
        fd_text_pool_clear(&texts->pools[i].texts);
    }
    fd_buffer_clear(&texts->scratch);
}

/* Intern a text; 0: it is empty or the table is full. */
static uint32_t
find_text(fd_arena *arena, fd_text_pool *pool, fd_span text)
{
    uint32_t id = 0;
    size_t size = fd_span_size(text);
    if (size > 0 && pool->texts.count < fd_budget(FD_PERFETTO_TEXTS)
        && fd_buffer_fits(&pool->bytes, size,
                          fd_budget(FD_PERFETTO_TEXT_BYTES))) {
        fd_arena_check(arena, fd_text_pool_add(pool, text.from, size, &id));
    }
    return id;
}

static void
remember_number(fd_arena *arena, fd_perfetto_pool *pool, uint32_t number,
                uint32_t id)
{
    while (pool->ids.count <= number) {
        fd_arena_push(arena, &pool->ids, 0);
    }
    pool->ids.list[number] = id;
}

void
fd_perfetto_text(fd_perfetto_texts *texts, fd_perfetto_kind kind,
                 fd_span value, uint32_t number, fd_buffer *to)
{
    static const struct {
        uint32_t id;
        uint32_t text;
    } fields[] = {{FD_PB_EVENT_CATEGORY_IID, FD_PB_EVENT_CATEGORY},
                  {FD_PB_EVENT_NAME_IID, FD_PB_EVENT_NAME},
                  {FD_PB_NOTE_NAME_IID, FD_PB_NOTE_NAME}};
    fd_perfetto_pool *pool = &texts->pools[kind];
    uint32_t id = number < pool->ids.count ? pool->ids.list[number] : 0;
    if (id == 0) {
        fd_span text = fd_perfetto_spell(texts, value);
        id = find_text(texts->arena, &pool->texts, text);
        if (id == 0) {
            fd_proto_bytes(to, fields[kind].text, text.from,
                           fd_span_size(text));
        }
        else if (number != 0) {
            remember_number(texts->arena, pool, number, id);
        }
    }
    if (id != 0) {
        fd_proto_number(to, fields[kind].id, id);
    }
}

fd_span
fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value)
{
    fd_span inside = fd_span_inside(value);
    for (const char *at = inside.from; at < inside.to; at++) {
        if (*at == '\\' || (unsigned char)*at >= 0x80) {
            texts->scratch.size = 0;
            fd_json_string(inside, &texts->scratch);
            fd_arena_check(texts->arena, texts->scratch.status);
            return fd_span_of(&texts->scratch);
        }
    }
    return inside;
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

static void put_value(fd_perfetto_texts *texts, fd_scan *scan, fd_buffer *to);

static void
put_items(fd_perfetto_texts *texts, fd_scan *scan, fd_buffer *to)
{
    bool more = true;
    while (more) {
        size_t from = to->size;
        put_value(texts, scan, to);
        fd_proto_wrap(to, FD_PB_NOTE_ITEM, from);
        fd_scan_space(scan);
        more = *scan->at == ',';
        scan->at += more;
    }
    scan->at++;
}

/* Append the members of an object as fields. */
static void
put_members(fd_perfetto_texts *texts, fd_scan *scan, uint32_t field,
            fd_buffer *to)
{
    fd_span key;
    for (bool first = true; fd_scan_member(scan, first, &key) == FD_SCAN_OK;
         first = false) {
        size_t from = to->size;
        fd_perfetto_text(texts, FD_PERFETTO_NOTES,
                         (fd_span){key.from - 1, key.to + 1}, 0, to);
        put_value(texts, scan, to);
        fd_proto_wrap(to, field, from);
    }
}

/* Append the value at `scan`, which must be complete JSON. */
static void
put_value(fd_perfetto_texts *texts, fd_scan *scan, fd_buffer *to)
{
    fd_scan_space(scan);
    const char *from = scan->at;
    size_t before = to->size;
    bool list = *from == '[';
    if (!list && *from != '{') {
        if (fd_scan_value(scan) != FD_SCAN_OK) {
            fd_arena_fail(texts->arena, FD_EFORMAT);
        }
        put_scalar(texts, (fd_span){from, scan->at}, to);
        return;
    }
    scan->at++;
    fd_scan_space(scan);
    if (*scan->at == (list ? ']' : '}')) {
        scan->at++;
        fd_proto_number(to, FD_PB_NESTED_TYPE,
                        list ? FD_PB_NESTED_ARRAY : FD_PB_NESTED_DICT);
        fd_proto_wrap(to, FD_PB_NOTE_NESTED, before);
    }
    else if (list) {
        put_items(texts, scan, to);
    }
    else {
        put_members(texts, scan, FD_PB_NOTE_ENTRY, to);
    }
}

void
fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object, fd_buffer *to)
{
    if (object.from != NULL && *object.from == '{') {
        fd_scan scan = {
            .at = object.from + 1, .end = object.to, .forgets = true};
        put_members(texts, &scan, FD_PB_EVENT_NOTE, to);
    }
}
