#include "natives.h"
#include "timelines.h"

#include "events/writers/perfetto_fields.h"

#include <string.h>

enum { KINDS = 4, TEXTS = 512 };

/* A trace being printed: interned texts by kind and id, and the time of the
 * sequence. */
typedef struct printing {
    fd_span texts[KINDS][TEXTS];
    uint64_t track; /* default track of the sequence */
    int64_t time;
    fd_buffer *to;
} printing;

static fd_span
span_of(const fd_proto_field *field)
{
    return (fd_span){field->bytes, field->bytes + field->size};
}

static void
put_span(fd_buffer *to, fd_span text)
{
    fd_buffer_bytes(to, text.from, fd_span_size(text));
}

/* The first field of a message with this number. */
static fd_proto_field
find(const fd_proto_field *message, uint32_t number)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == number) {
            return f;
        }
    }
    return (fd_proto_field){.number = 0, .bytes = ""};
}

uint64_t
native_number(const fd_proto_field *message, uint32_t field)
{
    fd_proto_field found = find(message, field);
    return found.number != 0 ? found.value : 0;
}

/* A text in a message: inline, or interned. */
static fd_span
text_of(const printing *p, const fd_proto_field *message, uint32_t field,
        uint32_t iid_field, uint32_t kind)
{
    fd_proto_field inner = find(message, field);
    uint64_t iid = native_number(message, iid_field);
    return inner.number != 0 ? span_of(&inner)
         : iid < TEXTS       ? p->texts[kind][iid]
                             : (fd_span){"?", "?" + 1};
}

static void put_value(const printing *p, const fd_proto_field *note);

static void
put_note(const printing *p, const fd_proto_field *note)
{
    put_span(p->to, text_of(p, note, FD_PB_NOTE_NAME, FD_PB_NOTE_NAME_IID,
                            FD_PB_INTERNED_NOTE_NAME));
    fd_buffer_text(p->to, "=");
    put_value(p, note);
}

/* The items or entries of a value. */
static void
put_parts(const printing *p, const fd_proto_field *note, uint32_t number)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(note->bytes, note->size);
    const char *separator = "";
    while (fd_proto_next(&r, &f)) {
        if (f.number == number) {
            fd_buffer_text(p->to, separator);
            if (number == FD_PB_NOTE_ITEM) {
                put_value(p, &f);
            }
            else {
                put_note(p, &f);
            }
            separator = " ";
        }
    }
}

static void
put_value(const printing *p, const fd_proto_field *note)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(note->bytes, note->size);
    double real;
    while (fd_proto_next(&r, &f)) {
        switch (f.number) {
        case FD_PB_NOTE_BOOL:
            fd_buffer_text(p->to, f.value != 0 ? "true" : "false");
            return;
        case FD_PB_NOTE_INT:
            fd_buffer_format(p->to, "%lld", (long long)f.value);
            return;
        case FD_PB_NOTE_UINT:
            fd_buffer_format(p->to, "%llu", (unsigned long long)f.value);
            return;
        case FD_PB_NOTE_DOUBLE:
            memcpy(&real, f.bytes, sizeof real);
            fd_buffer_format(p->to, "%g", real);
            return;
        case FD_PB_NOTE_STRING:
            put_span(p->to, span_of(&f));
            return;
        case FD_PB_NOTE_NESTED:
            fd_buffer_text(p->to, native_number(&f, FD_PB_NESTED_TYPE)
                                          == FD_PB_NESTED_ARRAY
                                      ? "[]"
                                      : "{}");
            return;
        case FD_PB_NOTE_ITEM:
        case FD_PB_NOTE_ENTRY:
            fd_buffer_text(p->to, f.number == FD_PB_NOTE_ITEM ? "[" : "{");
            put_parts(p, note, f.number);
            fd_buffer_text(p->to, f.number == FD_PB_NOTE_ITEM ? "]" : "}");
            return;
        default:
            break;
        }
    }
}

static void
put_event(const printing *p, const fd_proto_field *event)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(event->bytes, event->size);
    fd_proto_field legacy = find(event, FD_PB_EVENT_LEGACY);
    uint64_t phase = native_number(&legacy, FD_PB_LEGACY_PHASE);
    uint64_t track = native_number(event, FD_PB_EVENT_TRACK);
    fd_buffer_format(
        p->to, "%c %u %lld ",
        phase != 0 ? (char)phase
                   : "?BEIC"[native_number(event, FD_PB_EVENT_TYPE)],
        (unsigned)(track != 0 ? track : p->track), (long long)p -> time);
    put_span(p->to,
             text_of(p, event, FD_PB_EVENT_CATEGORY, FD_PB_EVENT_CATEGORY_IID,
                     FD_PB_INTERNED_CATEGORY));
    fd_buffer_text(p->to, "/");
    put_span(p->to, text_of(p, event, FD_PB_EVENT_NAME, FD_PB_EVENT_NAME_IID,
                            FD_PB_INTERNED_NAME));
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_EVENT_NOTE) {
            fd_buffer_text(p->to, " ");
            put_note(p, &f);
        }
        else if (f.number == FD_PB_EVENT_COUNTER) {
            fd_buffer_format(p->to, " %lld", (long long)f.value);
        }
    }
    fd_proto_reader inner = fd_proto_read(legacy.bytes, legacy.size);
    while (fd_proto_next(&inner, &f)) {
        if (f.number != FD_PB_LEGACY_PHASE) {
            fd_buffer_format(p->to, " %u:%llu", (unsigned)f.number,
                             (unsigned long long)f.value);
        }
    }
    fd_buffer_text(p->to, "\n");
}

static void
put_track(const printing *p, const fd_proto_field *track)
{
    fd_proto_field process = find(track, FD_PB_TRACK_PROCESS);
    fd_proto_field thread = find(track, FD_PB_TRACK_THREAD);
    fd_proto_field name = find(track, FD_PB_TRACK_NAME);
    if (process.number != 0) {
        name = find(&process, FD_PB_PROCESS_NAME);
        fd_buffer_format(p->to, "process %u ",
                         (unsigned)native_number(&process, FD_PB_PROCESS_PID));
    }
    else if (thread.number != 0) {
        name = find(&thread, FD_PB_THREAD_NAME);
        fd_buffer_format(p->to, "thread %u %u ",
                         (unsigned)native_number(&thread, FD_PB_THREAD_PID),
                         (unsigned)native_number(&thread, FD_PB_THREAD_TID));
    }
    else {
        fd_buffer_format(p->to, "track %u ",
                         (unsigned)native_number(track, FD_PB_TRACK_UUID));
    }
    put_span(p->to, span_of(&name));
    fd_buffer_text(p->to, "\n");
}

static void
keep_texts(printing *p, const fd_proto_field *interned)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(interned->bytes, interned->size);
    while (fd_proto_next(&r, &f)) {
        uint64_t iid = native_number(&f, FD_PB_INTERNED_IID);
        fd_proto_field text = find(&f, FD_PB_INTERNED_TEXT);
        if (f.number < KINDS && iid < TEXTS) {
            p->texts[f.number][iid] = span_of(&text);
        }
    }
}

static void
take_clock(printing *p, const fd_proto_field *snapshot)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(snapshot->bytes, snapshot->size);
    while (fd_proto_next(&r, &f)) {
        if (native_number(&f, FD_PB_CLOCK_ID) == FD_PB_INCREMENTAL) {
            p->time = (int64_t)native_number(&f, FD_PB_CLOCK_TIMESTAMP);
        }
    }
}

static void
put_packet(printing *p, const fd_proto_field *packet)
{
    fd_proto_field f;
    fd_proto_field inner;
    fd_proto_reader r = fd_proto_read(packet->bytes, packet->size);
    while (fd_proto_next(&r, &f)) {
        switch (f.number) {
        case FD_PB_PACKET_TIMESTAMP:
            p->time += (int64_t)f.value;
            break;
        case FD_PB_PACKET_CLOCK_SNAPSHOT:
            take_clock(p, &f);
            break;
        case FD_PB_PACKET_DEFAULTS:
            memset(p->texts, 0, sizeof p->texts);
            inner = find(&f, FD_PB_DEFAULTS_TRACK_EVENT);
            p->track = native_number(&inner, FD_PB_EVENT_TRACK);
            break;
        case FD_PB_PACKET_INTERNED:
            keep_texts(p, &f);
            break;
        case FD_PB_PACKET_TRACK:
            put_track(p, &f);
            break;
        case FD_PB_PACKET_TRACK_EVENT:
            put_event(p, &f);
            break;
        default:
            break;
        }
    }
}

fd_status
native_text(const char *path, fd_buffer *text)
{
    static printing p;
    fd_buffer content = {.bytes = NULL};
    fd_proto_field packet;
    p.to = text;
    fd_status status = fixture_read(path, &content);
    fd_proto_reader r = fd_proto_read(content.bytes, content.size);
    while (status == FD_OK && fd_proto_next(&r, &packet)) {
        put_packet(&p, &packet);
    }
    fd_buffer_clear(&content);
    fd_buffer_bytes(text, "", 1);
    return status != FD_OK ? status : r.bad ? FD_EFORMAT : text->status;
}

fd_status
native_merged(const char *text, fd_timeline_input *input, fd_buffer *lines)
{
    fd_timeline_request request = {.output = "native.pftrace"};
    *input = (fd_timeline_input)FILE_INPUT("in.json", 0);
    fd_status status = fixture_write_text("in.json", text);
    fd_then(status, fd_timeline_merge(&request, input, 1, NULL));
    return status == FD_OK ? native_text("native.pftrace", lines) : status;
}
