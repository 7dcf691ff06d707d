#include "events/readers/perfetto_args.h"

#include "events/recorded/perfetto_fields.h"
#include "json/json_scan.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Deeper values are null, and deeper JSON is text: readers have a bound too. */
enum { DEPTH = 200, JSON_DEPTH = 20 };

typedef struct printing {
    const fd_perfetto_tables *tables;
    const fd_perfetto_from *from;
    fd_buffer *to;
} printing;

void
fd_perfetto_real(uint64_t bits, fd_buffer *to)
{
    char text[64];
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        fd_buffer_text(to, "null");
        return;
    }
    int size = snprintf(text, sizeof text, "%.17g", value);
    char *point = strchr(text, *localeconv()->decimal_point);
    if (point != NULL) {
        *point = '.';
    }
    fd_buffer_bytes(to, text, (size_t)size);
    if (strpbrk(text, ".e") == NULL) {
        fd_buffer_text(to, ".0");
    }
}

static void
put_signed(int64_t value, fd_buffer *to)
{
    fd_buffer_text(to, value < 0 ? "-" : "");
    fd_buffer_u64(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void
put_interned(const printing *p, uint32_t kind, uint64_t iid)
{
    uint32_t text = fd_perfetto_interned(p->from, kind, iid);
    fd_buffer_json(p->to, fd_text_pool_get(&p->tables->texts, text),
                   fd_text_pool_size(&p->tables->texts, text));
}

static void put_value(const printing *p, const fd_proto_field *annotation,
                      int depth);

static void
put_name(const printing *p, const fd_proto_field *annotation)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(annotation->bytes, annotation->size);
    bool any = false;
    while (!any && fd_proto_next(&r, &f)) {
        any = true;
        if (f.number == FD_PB_NOTE_NAME && f.wire == FD_PROTO_BYTES) {
            fd_buffer_json(p->to, f.bytes, f.size);
        }
        else if (f.number == FD_PB_NOTE_NAME_IID) {
            put_interned(p, FD_PB_INTERNED_NOTE_NAME, f.value);
        }
        else {
            any = false;
        }
    }
    fd_buffer_text(p->to, any ? ":" : "\"\":");
}

/* Entries of a dictionary, or items of an array. */
static void
put_inner(const printing *p, const fd_proto_field *annotation, uint32_t number,
          int depth)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(annotation->bytes, annotation->size);
    bool named = number == FD_PB_NOTE_ENTRY;
    bool first = true;
    fd_buffer_text(p->to, named ? "{" : "[");
    while (fd_proto_next(&r, &f)) {
        if (f.number == number && f.wire == FD_PROTO_BYTES) {
            fd_buffer_text(p->to, first ? "" : ",");
            if (named) {
                put_name(p, &f);
            }
            put_value(p, &f, depth + 1);
            first = false;
        }
    }
    fd_buffer_text(p->to, named ? "}" : "]");
}

/* The older form of nested values: only empty ones are read. */
static void
put_nested(const printing *p, const fd_proto_field *nested)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(nested->bytes, nested->size);
    uint64_t type = 0;
    bool more = false;
    while (fd_proto_next(&r, &f)) {
        type = f.number == FD_PB_NESTED_TYPE ? f.value : type;
        more = more || f.number != FD_PB_NESTED_TYPE;
    }
    fd_buffer_text(p->to, more                         ? "\"...\""
                          : type == FD_PB_NESTED_DICT  ? "{}"
                          : type == FD_PB_NESTED_ARRAY ? "[]"
                                                       : "null");
}

static bool
is_shallow(const char *at, const char *end)
{
    int depth = 0;
    bool inside = false; /* of a string */
    for (; at < end && depth <= JSON_DEPTH; at++) {
        if (inside && *at == '\\') {
            at++;
        }
        else if (*at == '"') {
            inside = !inside;
        }
        else if (!inside) {
            depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        }
    }
    return depth <= JSON_DEPTH;
}

/* Text that another program wrote as JSON. */
static void
put_json(const printing *p, const fd_proto_field *f)
{
    fd_scan scan = {.at = NULL};
    const char *end = f->bytes + f->size;
    fd_scan_begin(&scan, f->bytes, end);
    bool whole = fd_scan_value(&scan) == FD_SCAN_OK && scan.at == end
              && scan.repairs.count == 0 && is_shallow(f->bytes, end);
    fd_scan_clear(&scan);
    if (whole) {
        fd_buffer_bytes(p->to, f->bytes, f->size);
    }
    else {
        fd_buffer_json(p->to, f->bytes, f->size);
    }
}

/* True when the field is a value. */
static bool
put_field(const printing *p, const fd_proto_field *annotation,
          const fd_proto_field *f, int depth)
{
    bool bytes = f->wire == FD_PROTO_BYTES;
    switch (f->number) {
    case FD_PB_NOTE_BOOL:
        fd_buffer_text(p->to, f->value != 0 ? "true" : "false");
        return true;
    case FD_PB_NOTE_UINT:
        fd_buffer_u64(p->to, f->value);
        return true;
    case FD_PB_NOTE_INT:
        put_signed((int64_t)f->value, p->to);
        return true;
    case FD_PB_NOTE_DOUBLE:
        fd_perfetto_real(f->value, p->to);
        return true;
    case FD_PB_NOTE_POINTER:
        fd_buffer_format(p->to, "\"0x%" PRIx64 "\"", f->value);
        return true;
    case FD_PB_NOTE_STRING_IID:
        put_interned(p, FD_PB_INTERNED_NOTE_STRING, f->value);
        return true;
    default:
        break;
    }
    if (bytes && f->number == FD_PB_NOTE_STRING) {
        fd_buffer_json(p->to, f->bytes, f->size);
        return true;
    }
    if (bytes && f->number == FD_PB_NOTE_JSON) {
        put_json(p, f);
        return true;
    }
    if (bytes && f->number == FD_PB_NOTE_NESTED) {
        put_nested(p, f);
        return true;
    }
    if (bytes
        && (f->number == FD_PB_NOTE_ENTRY || f->number == FD_PB_NOTE_ITEM)) {
        put_inner(p, annotation, f->number, depth);
        return true;
    }
    return false;
}

static void
put_value(const printing *p, const fd_proto_field *annotation, int depth)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(annotation->bytes, annotation->size);
    while (depth < DEPTH && fd_proto_next(&r, &f)) {
        if (put_field(p, annotation, &f, depth)) {
            return;
        }
    }
    fd_buffer_text(p->to, "null");
}

void
fd_perfetto_arg(const fd_perfetto_tables *tables, const fd_perfetto_from *from,
                const fd_proto_field *annotation, bool first, fd_buffer *to)
{
    printing p = {tables, from, to};
    fd_buffer_text(to, first ? "" : ",");
    put_name(&p, annotation);
    put_value(&p, annotation, 0);
}
