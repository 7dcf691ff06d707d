#include "events/readers/perfetto_args.h"

#include "events/recorded/perfetto_fields.h"
#include "json/json_scan.h"
#include "json/json_writer.h"

#include <math.h>
#include <string.h>

/* Values nested deeper are written as null, JSON nested deeper as text:
 * readers also limit the depth. */
enum { DEPTH = 200, JSON_DEPTH = 20 };

typedef struct printing {
    const fd_perfetto_tables *tables;
    const fd_perfetto_from *from;
    fd_buffer *to;
} printing;

/* Append a double, with a decimal even if it is an integer: "1.0". */
static void
put_real(double value, fd_buffer *to)
{
    size_t from = to->size;
    fd_json_writer w = {.to = to};
    fd_json_put_double(&w, NULL, value);
    if (isfinite(value) && to->status == FD_OK
        && memchr(to->bytes + from, '.', to->size - from) == NULL
        && memchr(to->bytes + from, 'e', to->size - from) == NULL) {
        fd_buffer_text(to, ".0");
    }
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

/* Append the entries of a dictionary or the items of an array. */
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

/* Append a nested value of the older format: only empty ones are supported. */
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
    bool inside = false; /* within a string */
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

/* Append text that another program wrote as JSON. */
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

/* Append a field if it is a value; return false otherwise. */
static bool
put_field(const printing *p, const fd_proto_field *annotation,
          const fd_proto_field *f, int depth)
{
    double real;
    bool bytes = f->wire == FD_PROTO_BYTES;
    switch (f->number) {
    case FD_PB_NOTE_BOOL:
        fd_buffer_text(p->to, f->value != 0 ? "true" : "false");
        return true;
    case FD_PB_NOTE_UINT:
        fd_buffer_u64(p->to, f->value);
        return true;
    case FD_PB_NOTE_INT:
        fd_json_put_i64(&(fd_json_writer){.to = p->to}, NULL,
                        (int64_t)f->value);
        return true;
    case FD_PB_NOTE_DOUBLE:
        memcpy(&real, &f->value, sizeof real);
        put_real(real, p->to);
        return true;
    case FD_PB_NOTE_POINTER:
        fd_timeline_put_id(f->value, p->to);
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

fd_span
fd_perfetto_counter_name(const fd_perfetto_event *event, fd_span *series)
{
    static const char value[] = "value";
    const fd_text_pool *texts = &event->tables->texts;
    const char *name = fd_text_pool_get(texts, event->track->name);
    const char *end = name + fd_text_pool_size(texts, event->track->name);
    const char *space = memrchr(name, ' ', (size_t)(end - name));
    *series = space != NULL ? (fd_span){space + 1, end}
                            : (fd_span){value, value + sizeof value - 1};
    return (fd_span){name, space != NULL ? space : end};
}

static void
put_counter(const fd_perfetto_event *event, fd_buffer *to)
{
    fd_span series;
    fd_json_writer w = {.to = to};
    fd_perfetto_counter_name(event, &series);
    fd_json_begin_object(&w, NULL);
    fd_json_key(&w, series.from, fd_span_size(series));
    if (event->is_real || event->track->unit != 1) {
        put_real(event->real * (double)event->track->unit, to);
    }
    else {
        fd_json_put_i64(&w, NULL, (int64_t)event->value);
    }
    fd_json_end_object(&w);
}

fd_span
fd_perfetto_args(const fd_perfetto_event *event)
{
    fd_proto_field f;
    fd_proto_reader r =
        fd_proto_read(event->message.bytes, event->message.size);
    fd_buffer *to = fd_batch_compose(event->batch);
    printing p = {event->tables, event->from, to};
    if (event->type == FD_PB_TYPE_COUNTER) {
        put_counter(event, to);
    }
    while (event->has_notes && fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_EVENT_NOTE && f.wire == FD_PROTO_BYTES) {
            fd_buffer_text(to, to->size == 0 ? "{" : ",");
            put_name(&p, &f);
            put_value(&p, &f, 0);
        }
    }
    if (event->has_notes) {
        fd_buffer_text(to, "}");
    }
    return to->size > 0 || to->status != FD_OK
             ? fd_batch_composed(event->batch)
             : (fd_span){NULL, NULL};
}
