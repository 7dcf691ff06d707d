#include "events/readers/perfetto_event.h"

#include "base/budget.h"
#include "events/readers/perfetto_args.h"
#include "events/recorded/perfetto_fields.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPEN = 1 << 12 };

typedef fd_perfetto_event happening;

/* The fields of a legacy event. */
typedef struct legacy {
    char phase;
    uint32_t name; /* text */
    uint64_t duration_us;
    uint32_t id_field; /* which of the ids it is; 0: none */
    uint64_t id;
    bool binds_enclosing;
} legacy;

static uint32_t
text_field(happening *h, const fd_proto_field *f, fd_status *status)
{
    return fd_perfetto_keep_text(h->tables, f->bytes, f->size, status);
}

/* A text of the tables as JSON; 0: absent. */
static fd_span
text_of(happening *h, uint32_t text)
{
    const fd_text_pool *texts = &h->tables->texts;
    return text == 0 ? (fd_span){NULL, NULL}
                     : fd_batch_json(h->batch, fd_text_pool_get(texts, text),
                                     fd_text_pool_size(texts, text));
}

static fd_timeline_event
begin_event(happening *h, char phase)
{
    uint32_t pid = 0;
    fd_perfetto_pid_of(h->tables, h->track, &pid);
    fd_timeline_event event = {.phase = phase,
                               .has_start = true,
                               .start = h->time,
                               .pid = fd_batch_number(h->batch, pid)};
    if (h->track->kind == FD_PERFETTO_THREAD) {
        event.tid = fd_batch_number(h->batch, h->track->tid);
    }
    else if (h->track->kind != FD_PERFETTO_PROCESS
             || (h->type != FD_PB_TYPE_INSTANT && h->legacy.bytes == NULL)) {
        event.track_id = h->track->uuid;
        event.track = h->track->name == 0 ? fd_batch_static("\"\"")
                                          : text_of(h, h->track->name);
    }
    return event;
}

/* With a name, a category and the annotations: all is known of the event. */
static void
finish_event(happening *h, fd_timeline_event *event, uint32_t category,
             uint32_t name)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(h->message->bytes, h->message->size);
    event->cat = text_of(h, category);
    event->name = text_of(h, name);
    fd_buffer *args = fd_batch_compose(h->batch);
    while (h->has_notes && fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_EVENT_NOTE && f.wire == FD_PROTO_BYTES) {
            bool first = args->size == 0;
            fd_buffer_text(args, first ? "{" : "");
            fd_perfetto_arg(h->tables, h->from, &f, first, args);
        }
    }
    if (args->size > 0) {
        fd_buffer_text(args, "}");
        event->args = fd_batch_composed(h->batch);
    }
    fd_batch_event(h->batch, event);
}

static fd_span
hex(happening *h, uint64_t id)
{
    return fd_batch_format(h->batch, "\"0x%" PRIx64 "\"", id);
}

/* Slices of a track that is not a thread have an id in Chrome JSON instead of a
 * stack. */
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
    fd_timeline_event event = begin_event(h, phase);
    event.local_id = hex(h, track->uuid);
    finish_event(h, &event, category, name);
    return FD_OK;
}

static fd_status
put_slice(happening *h)
{
    bool begins = h->type == FD_PB_TYPE_BEGIN;
    if (h->track->kind != FD_PERFETTO_THREAD) {
        return put_beside(h, begins ? 'b' : 'e');
    }
    fd_timeline_event event = begin_event(h, begins ? 'B' : 'E');
    finish_event(h, &event, h->category, h->name);
    return FD_OK;
}

static fd_status
put_instant(happening *h)
{
    if (h->track->kind != FD_PERFETTO_THREAD
        && h->track->kind != FD_PERFETTO_PROCESS) {
        return put_beside(h, 'n');
    }
    fd_timeline_event event = begin_event(h, 'i');
    event.scope = h->track->kind == FD_PERFETTO_THREAD ? 't' : 'p';
    finish_event(h, &event, h->category, h->name);
    return FD_OK;
}

static double
counted(happening *h)
{
    double value;
    memcpy(&value, &h->value, sizeof value);
    value = h->is_real ? value : (double)(int64_t)h->value;
    h->track->total = h->track->incremental ? h->track->total + value : value;
    return h->track->total * (double)h->track->unit;
}

/* "GPU busy" is the series "busy" of the counter "GPU": viewers join them
 * again. */
static void
put_counter(happening *h)
{
    const char *name = fd_text_pool_get(&h->tables->texts, h->track->name);
    const char *space = strrchr(name, ' ');
    size_t size = space != NULL ? (size_t)(space - name) : strlen(name);
    double value = counted(h);
    fd_timeline_event event = begin_event(h, 'C');
    event.name = fd_batch_json(h->batch, name, size);
    fd_buffer *args = fd_batch_compose(h->batch);
    fd_buffer_text(args, "{");
    fd_buffer_json(args, space != NULL ? space + 1 : "value",
                   space != NULL ? strlen(space + 1) : 5);
    fd_buffer_text(args, ":");
    if (h->is_real || h->track->incremental || h->track->unit != 1) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        fd_perfetto_real(bits, args);
    }
    else {
        fd_buffer_format(args, "%" PRId64, (int64_t)h->value);
    }
    fd_buffer_text(args, "}");
    event.args = fd_batch_composed(h->batch);
    fd_batch_event(h->batch, &event);
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
            l->id_field = f.number;
            l->id = f.value;
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

/* The phase of Chrome JSON is a field of it. */
static void
put_legacy(happening *h, const legacy *l)
{
    fd_timeline_event event = begin_event(h, l->phase);
    if (l->id_field == FD_PB_LEGACY_ID) {
        event.id = hex(h, l->id);
    }
    else if (l->id_field == FD_PB_LEGACY_LOCAL_ID) {
        event.local_id = hex(h, l->id);
    }
    else if (l->id_field == FD_PB_LEGACY_GLOBAL_ID) {
        event.global_id = hex(h, l->id);
    }
    if (l->phase == 'X' && l->duration_us <= INT64_MAX / 1000) {
        event.has_duration = true;
        event.duration = (int64_t)l->duration_us * 1000;
    }
    event.encloses = l->binds_enclosing;
    finish_event(h, &event, h->category, h->name != 0 ? h->name : l->name);
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
    fd_timeline_event event = begin_event(h, phase);
    event.id = hex(h, id);
    event.encloses = phase == 'f';
    event.follows = true;
    event.cat = event.name = fd_batch_static("\"flow\"");
    fd_batch_event(h->batch, &event);
}

bool
fd_perfetto_event_is_flow(uint32_t number)
{
    return number == FD_PB_EVENT_FLOWS || number == FD_PB_EVENT_OLD_FLOWS
        || number == FD_PB_EVENT_LAST_FLOWS
        || number == FD_PB_EVENT_OLD_LAST_FLOWS;
}

/* Several categories are one text, as in Chrome JSON: "a,b". */
static uint32_t
add_category(happening *h, uint32_t category, fd_status *status)
{
    const fd_text_pool *texts = &h->tables->texts;
    if (h->category == 0 || category == 0) {
        return category != 0 ? category : h->category;
    }
    fd_buffer both = {.bytes = NULL};
    fd_buffer_bytes(&both, fd_text_pool_get(texts, h->category),
                    fd_text_pool_size(texts, h->category));
    fd_buffer_text(&both, ",");
    fd_buffer_bytes(&both, fd_text_pool_get(texts, category),
                    fd_text_pool_size(texts, category));
    *status = both.status;
    if (both.status == FD_OK) {
        category =
            fd_perfetto_keep_text(h->tables, both.bytes, both.size, status);
    }
    fd_buffer_clear(&both);
    return category;
}

/* Packed numbers. */
static void
add_categories(happening *h, const fd_proto_field *f, fd_status *status)
{
    const char *at = f->bytes;
    uint64_t iid;
    while (*status == FD_OK && at < f->bytes + f->size
           && fd_proto_varint(&at, f->bytes + f->size, &iid)) {
        h->category = add_category(
            h, fd_perfetto_interned(h->from, FD_PB_INTERNED_CATEGORY, iid),
            status);
    }
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
        else if (f.number == FD_PB_EVENT_CATEGORY_IID && bytes) {
            add_categories(h, &f, &status);
        }
        else if (f.number == FD_PB_EVENT_CATEGORY_IID) {
            h->category =
                add_category(h,
                             fd_perfetto_interned(
                                 h->from, FD_PB_INTERNED_CATEGORY, f.value),
                             &status);
        }
        else if (f.number == FD_PB_EVENT_CATEGORY && bytes) {
            h->category = add_category(h, text_field(h, &f, &status), &status);
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
        else {
            h->has_notes = h->has_notes || f.number == FD_PB_EVENT_NOTE;
            h->has_flows = h->has_flows || fd_perfetto_event_is_flow(f.number);
        }
    }
    return r.bad ? FD_EFORMAT : status;
}
