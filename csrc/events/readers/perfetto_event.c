#include "events/readers/perfetto_event.h"

#include "base/budget.h"
#include "events/readers/perfetto_args.h"
#include "events/recorded/perfetto_fields.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPEN = 1 << 12 };

typedef fd_perfetto_event happening;

/* What of the older kind of event is used. */
typedef struct legacy {
    char phase;
    uint32_t name; /* text */
    uint64_t duration_us;
    bool has_id;
    const char *id_kind; /* NULL: for all */
    uint64_t id;
    bool binds_enclosing;
} legacy;

static uint32_t
text_field(happening *h, const fd_proto_field *f, fd_status *status)
{
    return fd_perfetto_keep_text(h->tables, f->bytes, f->size, status);
}

/* {"ph":.,"pid":.,"tid":.,"ts":. */
static void
begin_event(happening *h, char phase, const fd_perfetto_track *track)
{
    fd_buffer *to = h->to;
    uint32_t pid = 0;
    uint64_t ns = h->time < 0 ? 0 - (uint64_t)h->time : (uint64_t)h->time;
    fd_perfetto_pid_of(h->tables, track, &pid);
    fd_buffer_text(to, *h->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    fd_buffer_bytes(to, &phase, 1);
    fd_buffer_text(to, "\",\"pid\":");
    fd_buffer_u64(to, pid);
    if (track->kind == FD_PERFETTO_THREAD) {
        fd_buffer_text(to, ",\"tid\":");
        fd_buffer_u64(to, track->tid);
    }
    fd_buffer_text(to, h->time < 0 ? ",\"ts\":-" : ",\"ts\":");
    fd_buffer_u64(to, ns / 1000);
    char digits[4] = {'.', (char)('0' + ns / 100 % 10),
                      (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};
    fd_buffer_bytes(to, digits, sizeof digits);
    *h->any = true;
}

static void
put_text(happening *h, const char *key, uint32_t text)
{
    const fd_text_pool *texts = &h->tables->texts;
    if (text != 0) {
        fd_buffer_text(h->to, key);
        fd_buffer_json(h->to, fd_text_pool_get(texts, text),
                       fd_text_pool_size(texts, text));
    }
}

static void
put_title(happening *h, uint32_t category, uint32_t name)
{
    put_text(h, ",\"cat\":", category);
    put_text(h, ",\"name\":", name);
}

static void
put_args(happening *h)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(h->message->bytes, h->message->size);
    bool first = true;
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_EVENT_NOTE && f.wire == FD_PROTO_BYTES) {
            fd_buffer_text(h->to, first ? ",\"args\":{" : "");
            fd_perfetto_arg(h->tables, h->from, &f, first, h->to);
            first = false;
        }
    }
    fd_buffer_text(h->to, first ? "}" : "}}");
}

static void
put_id(happening *h, uint64_t id)
{
    fd_buffer_format(h->to, ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", id);
}

/* A slice of a track that is no thread has no stack in Chrome but an id. */
static fd_status
put_beside(happening *h, char phase)
{
    fd_perfetto_track *track = h->track;
    uint32_t category = h->category != 0 ? h->category : track->name;
    uint32_t name = h->name;
    if (phase == 'e') {
        if (track->open.count < 2) {
            return FD_OK;
        }
        name = track->open.list[--track->open.count];
        category = track->open.list[--track->open.count];
    }
    else if (phase == 'b') {
        if (track->open.count >= fd_budget(MOST_OPEN)) {
            return FD_OK;
        }
        if (fd_vector_push(&track->open, category) != FD_OK
            || fd_vector_push(&track->open, name) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    begin_event(h, phase, track);
    put_id(h, track->uuid);
    put_title(h, category, name);
    put_args(h);
    return FD_OK;
}

static fd_status
put_slice(happening *h)
{
    bool begins = h->type == FD_PB_TYPE_BEGIN;
    if (h->track->kind != FD_PERFETTO_THREAD) {
        return put_beside(h, begins ? 'b' : 'e');
    }
    begin_event(h, begins ? 'B' : 'E', h->track);
    put_title(h, h->category, h->name);
    put_args(h);
    return FD_OK;
}

static fd_status
put_instant(happening *h)
{
    if (h->track->kind != FD_PERFETTO_THREAD
        && h->track->kind != FD_PERFETTO_PROCESS) {
        return put_beside(h, 'n');
    }
    begin_event(h, 'i', h->track);
    fd_buffer_text(h->to, h->track->kind == FD_PERFETTO_THREAD
                              ? ",\"s\":\"t\""
                              : ",\"s\":\"p\"");
    put_title(h, h->category, h->name);
    put_args(h);
    return FD_OK;
}

/* "GPU busy" is the series "busy" of the counter "GPU": viewers put them
 * together again. */
static void
put_counter(happening *h)
{
    const fd_text_pool *texts = &h->tables->texts;
    const char *name = fd_text_pool_get(texts, h->track->name);
    const char *space = strrchr(name, ' ');
    size_t size = space != NULL ? (size_t)(space - name) : strlen(name);
    double value;
    memcpy(&value, &h->value, sizeof value);
    value = h->is_real ? value : (double)(int64_t)h->value;
    h->track->total = h->track->incremental ? h->track->total + value : value;
    value = h->track->total * (double)h->track->unit;
    begin_event(h, 'C', h->track);
    fd_buffer_text(h->to, ",\"name\":");
    fd_buffer_json(h->to, name, size);
    fd_buffer_text(h->to, ",\"args\":{");
    fd_buffer_json(h->to, space != NULL ? space + 1 : "value",
                   space != NULL ? strlen(space + 1) : 5);
    fd_buffer_text(h->to, ":");
    if (h->is_real || h->track->incremental || h->track->unit != 1) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        fd_perfetto_real(bits, h->to);
    }
    else {
        fd_buffer_format(h->to, "%" PRId64, (int64_t)h->value);
    }
    fd_buffer_text(h->to, "}}");
}

static fd_status
read_legacy(happening *h, legacy *l)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(h->legacy.bytes, h->legacy.size);
    *l = (legacy){.phase = 0};
    while (fd_proto_next(&r, &f)) {
        switch (f.number) {
        case FD_PB_LEGACY_PHASE:
            l->phase = f.value > 32 && f.value < 127 && f.value != '"'
                            && f.value != '\\'
                         ? (char)f.value
                         : '\0';
            break;
        case FD_PB_LEGACY_NAME_IID:
            l->name =
                fd_perfetto_interned(h->from, FD_PB_INTERNED_NAME, f.value);
            break;
        case FD_PB_LEGACY_DURATION_US:
            l->duration_us = f.value;
            break;
        case FD_PB_LEGACY_ID:
        case FD_PB_LEGACY_LOCAL_ID:
        case FD_PB_LEGACY_GLOBAL_ID:
            l->has_id = true;
            l->id = f.value;
            l->id_kind = f.number == FD_PB_LEGACY_ID       ? NULL
                       : f.number == FD_PB_LEGACY_LOCAL_ID ? "local"
                                                           : "global";
            break;
        case FD_PB_LEGACY_BINDS_ENCLOSING:
            l->binds_enclosing = f.value != 0;
            break;
        default:
            break;
        }
    }
    return r.bad ? FD_EFORMAT : FD_OK;
}

/* It says its phase of Chrome itself. */
static void
put_legacy(happening *h, const legacy *l)
{
    begin_event(h, l->phase, h->track);
    if (l->has_id && l->id_kind == NULL) {
        fd_buffer_format(h->to, ",\"id\":\"0x%" PRIx64 "\"", l->id);
    }
    else if (l->has_id) {
        fd_buffer_format(h->to, ",\"id2\":{\"%s\":\"0x%" PRIx64 "\"}",
                         l->id_kind, l->id);
    }
    if (l->phase == 'X') {
        fd_buffer_text(h->to, ",\"dur\":");
        fd_buffer_u64(h->to, l->duration_us);
    }
    fd_buffer_text(h->to, l->binds_enclosing ? ",\"bp\":\"e\"" : "");
    put_title(h, h->category, h->name != 0 ? h->name : l->name);
    put_args(h);
}

fd_status
fd_perfetto_event_put(happening *h)
{
    legacy l;
    switch (h->type) {
    case FD_PB_TYPE_BEGIN:
    case FD_PB_TYPE_END:
        return put_slice(h);
    case FD_PB_TYPE_INSTANT:
        return put_instant(h);
    case FD_PB_TYPE_COUNTER:
        if (h->has_value) {
            put_counter(h);
        }
        return FD_OK;
    default:
        break;
    }
    fd_status status = h->legacy.bytes != NULL ? read_legacy(h, &l) : FD_OK;
    if (status == FD_OK && h->legacy.bytes != NULL && l.phase != '\0') {
        put_legacy(h, &l);
    }
    return status;
}

void
fd_perfetto_event_flow(happening *h, char phase, uint64_t id)
{
    begin_event(h, phase, h->track);
    fd_buffer_format(h->to,
                     ",\"id\":\"0x%" PRIx64
                     "\",\"cat\":\"flow\",\"name\":\"flow\"%s}",
                     id, phase == 'f' ? ",\"bp\":\"e\"" : "");
}

fd_status
fd_perfetto_event_read(happening *h, uint64_t *uuid)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    fd_proto_reader r = fd_proto_read(h->message->bytes, h->message->size);
    h->legacy.bytes = NULL;
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        bool bytes = f.wire == FD_PROTO_BYTES;
        if (f.number == FD_PB_EVENT_TYPE) {
            h->type = f.value;
        }
        else if (f.number == FD_PB_EVENT_TRACK) {
            *uuid = f.value;
        }
        else if (f.number == FD_PB_EVENT_NAME_IID) {
            h->name =
                fd_perfetto_interned(h->from, FD_PB_INTERNED_NAME, f.value);
        }
        else if (f.number == FD_PB_EVENT_NAME && bytes) {
            h->name = text_field(h, &f, &status);
        }
        else if (f.number == FD_PB_EVENT_CATEGORY_IID && !bytes) {
            h->category = fd_perfetto_interned(
                h->from, FD_PB_INTERNED_CATEGORY, f.value);
        }
        else if (f.number == FD_PB_EVENT_CATEGORY && bytes) {
            h->category = text_field(h, &f, &status);
        }
        else if (f.number == FD_PB_EVENT_COUNTER
                 || f.number == FD_PB_EVENT_DOUBLE_COUNTER) {
            h->has_value = true;
            h->is_real = f.number == FD_PB_EVENT_DOUBLE_COUNTER;
            h->value = f.value;
        }
        else if (f.number == FD_PB_EVENT_LEGACY && bytes) {
            h->legacy = f;
        }
    }
    return r.bad ? FD_EFORMAT : status;
}
