#include "events/writers/native_fields.h"

#include "events/recorded/perfetto_fields.h"

enum { DEPTH = 200 /* values nested deeper are dropped */ };

typedef struct copying {
    fd_perfetto_texts *texts;
    const fd_perfetto_event *event;
    fd_buffer *to;
    fd_status status;
} copying;

static uint32_t
text_of(const copying *c, uint32_t kind, uint64_t iid)
{
    return fd_perfetto_interned(c->event->from, kind, iid);
}

/* Append a text that is not interned in the output. */
static void
put_inline(copying *c, uint32_t field, uint32_t kind, uint64_t iid)
{
    const fd_text_pool *texts = &c->event->tables->texts;
    uint32_t text = text_of(c, kind, iid);
    fd_proto_bytes(c->to, field, fd_text_pool_get(texts, text),
                   fd_text_pool_size(texts, text));
}

static void
put_name(copying *c, uint32_t text)
{
    fd_status status =
        fd_perfetto_text_of(&c->texts->notes, &c->event->tables->texts, text,
                            FD_PB_NOTE_NAME_IID, FD_PB_NOTE_NAME, c->to);
    c->status = status != FD_OK ? status : c->status;
}

static void put_note(copying *c, const fd_proto_field *note, int depth);

static void
put_part(copying *c, const fd_proto_reader *r, const fd_proto_field *f,
         int depth)
{
    bool bytes = f->wire == FD_PROTO_BYTES;
    switch (f->number) {
    case FD_PB_NOTE_NAME_IID:
        put_name(c, text_of(c, FD_PB_INTERNED_NOTE_NAME, f->value));
        break;
    case FD_PB_NOTE_STRING_IID:
        put_inline(c, FD_PB_NOTE_STRING, FD_PB_INTERNED_NOTE_STRING, f->value);
        break;
    case FD_PB_NOTE_TYPE_IID:
        put_inline(c, FD_PB_NOTE_TYPE, FD_PB_INTERNED_NOTE_TYPE, f->value);
        break;
    case FD_PB_NOTE_ENTRY:
    case FD_PB_NOTE_ITEM:
        if (bytes && depth < DEPTH) {
            put_note(c, f, depth + 1);
        }
        break;
    default:
        fd_proto_copy(c->to, r, f);
        break;
    }
}

/* Append an annotation, an entry of a dictionary, or an item of a list. */
static void
put_note(copying *c, const fd_proto_field *note, int depth)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(note->bytes, note->size);
    size_t from = c->to->size;
    while (c->status == FD_OK && fd_proto_next(&r, &f)) {
        put_part(c, &r, &f, depth);
    }
    fd_perfetto_end_message(c->to, note->number, from);
}

/* Return whether a field contains no ids of texts or tracks. */
static bool
is_plain(uint32_t number)
{
    switch (number) {
    case FD_PB_EVENT_THREAD_TIME:
    case FD_PB_EVENT_THREAD_INSTRUCTIONS:
    case FD_PB_EVENT_SOURCE:
    case FD_PB_EVENT_CORRELATION:
    case FD_PB_EVENT_CORRELATION_TEXT:
        return true;
    default:
        return number >= FD_PB_EVENT_EXTENSIONS;
    }
}

static void
put_source(copying *c, uint64_t iid)
{
    uint32_t text = text_of(c, FD_PB_INTERNED_SOURCE, iid);
    if (text != 0) {
        c->status = fd_perfetto_text_of(
            &c->texts->sources, &c->event->tables->texts, text,
            FD_PB_EVENT_SOURCE_IID, FD_PB_EVENT_SOURCE, c->to);
    }
}

fd_status
fd_native_fields(fd_perfetto_texts *texts, const fd_perfetto_event *event,
                 fd_buffer *to)
{
    fd_proto_field f;
    copying c = {.texts = texts, .event = event, .to = to};
    fd_proto_reader r =
        fd_proto_read(event->message.bytes, event->message.size);
    while (event->has_more && c.status == FD_OK && fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_EVENT_NOTE && f.wire == FD_PROTO_BYTES) {
            put_note(&c, &f, 0);
        }
        else if (f.number == FD_PB_EVENT_SOURCE_IID) {
            put_source(&c, f.value);
        }
        else if (is_plain(f.number)) {
            fd_proto_copy(to, &r, &f);
        }
    }
    return c.status == FD_OK ? to->status : c.status;
}

void
fd_native_value(const fd_perfetto_event *event, fd_buffer *to)
{
    if (event->is_real) {
        fd_proto_fixed(to, FD_PB_EVENT_DOUBLE_COUNTER, &event->real);
    }
    else {
        fd_proto_number(to, FD_PB_EVENT_COUNTER, event->value);
    }
}
