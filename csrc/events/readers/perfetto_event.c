#include "events/readers/perfetto_event.h"

#include "base/budget.h"
#include "events/readers/perfetto_args.h"
#include "events/recorded/perfetto_fields.h"

#include <string.h>

enum { MOST_OPEN = 1 << 12 };

/* The fields of a legacy event. */
typedef struct legacy {
    char phase;
    uint32_t name; /* index of a text */
    uint64_t duration_us;
    uint32_t id_field; /* field number of its id; 0: no id */
    uint64_t id;
    bool binds_enclosing;
    bool has_bind_id;
    uint64_t bind_id;
    uint64_t direction; /* of `bind_id`: 1 in, 2 out, 3 both */
} legacy;

static uint32_t
text_field(fd_perfetto_event *h, const fd_proto_field *f, fd_status *status)
{
    return fd_perfetto_keep_text(h->tables, f->bytes, f->size, status);
}

/* Add an event without a name to the batch. */
static fd_timeline_event *
add_event(fd_perfetto_event *h, char phase)
{
    fd_perfetto_track *track = h->track;
    fd_timeline_event *event = fd_batch_new(h->batch);
    if (track->pid_text.from == NULL) {
        uint32_t pid = 0;
        fd_event_batch *to = &h->tables->spelled;
        fd_perfetto_pid_of(h->tables, track, &pid);
        track->pid_text = fd_batch_number(to, pid);
        track->tid_text = fd_perfetto_on_thread(h)
                            ? fd_batch_number(to, track->tid)
                            : (fd_span){NULL, NULL};
        h->batch->status = to->status != FD_OK ? to->status : h->batch->status;
    }
    event->phase = phase;
    event->has_start = true;
    event->start = h->time;
    event->pid = track->pid_text;
    event->tid = track->tid_text;
    return event;
}

static fd_timeline_event *
add_named(fd_perfetto_event *h, char phase, uint32_t category, uint32_t name)
{
    fd_timeline_event *event = add_event(h, phase);
    event->cat = fd_perfetto_json(h->tables, category, h->batch);
    event->name = fd_perfetto_json(h->tables, name, h->batch);
    event->native = h;
    event->native_args = fd_perfetto_args;
    return event;
}

/* Add an event of a slice on a track that is not a thread: in Chrome JSON, an
 * id joins its start and end. */
static fd_status
put_beside(fd_perfetto_event *h, char phase)
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
    fd_timeline_event *event = add_named(h, phase, category, name);
    event->local_id = fd_batch_id(h->batch, track->uuid);
    return FD_OK;
}

static void
put_binding(fd_perfetto_event *h, const legacy *l, fd_timeline_event *event)
{
    if (l->has_bind_id) {
        event->bind_id = fd_batch_id(h->batch, l->bind_id);
        event->flow_in = (l->direction & 1) != 0;
        event->flow_out = (l->direction & 2) != 0;
    }
}

static fd_status
put_slice(fd_perfetto_event *h, const legacy *l)
{
    bool begins = h->type == FD_PB_TYPE_BEGIN;
    if (!fd_perfetto_on_thread(h)) {
        return put_beside(h, begins ? 'b' : 'e');
    }
    put_binding(h, l, add_named(h, begins ? 'B' : 'E', h->category, h->name));
    return FD_OK;
}

static fd_status
put_instant(fd_perfetto_event *h)
{
    if (!fd_perfetto_on_thread(h) && !fd_perfetto_on_process(h)) {
        return put_beside(h, 'n');
    }
    add_named(h, 'i', h->category, h->name)->scope =
        fd_perfetto_on_thread(h) ? 't' : 'p';
    return FD_OK;
}

static void
put_counter(fd_perfetto_event *h)
{
    fd_span series;
    fd_perfetto_track *track = h->track;
    if (!h->is_real) {
        h->real = (double)(int64_t)h->value;
    }
    if (track->incremental) {
        track->total += h->real;
        h->real = track->total;
        h->is_real = true;
    }
    fd_timeline_event *event = add_event(h, 'C');
    fd_span name = fd_perfetto_counter_name(h, &series);
    event->name = fd_batch_json(h->batch, name.from, fd_span_size(name));
    event->native = h;
    event->native_args = fd_perfetto_args;
}

static fd_status
read_legacy(fd_perfetto_event *h, legacy *l)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(h->legacy.bytes, h->legacy.size);
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
        case FD_PB_LEGACY_BIND_ID:
            l->has_bind_id = true;
            l->bind_id = f.value;
            break;
        case FD_PB_LEGACY_DIRECTION:
            l->direction = f.value;
            break;
        default:
            break;
        }
    }
    return r.bad ? FD_EFORMAT : FD_OK;
}

/* Add a legacy event; its phase is a field of the legacy event. */
static void
put_legacy(fd_perfetto_event *h, const legacy *l)
{
    h->is_legacy = true;
    h->name = h->name != 0 ? h->name : l->name;
    fd_timeline_event *event = add_named(h, l->phase, h->category, h->name);
    if (l->id_field != 0) {
        *(l->id_field == FD_PB_LEGACY_ID         ? &event->id
          : l->id_field == FD_PB_LEGACY_LOCAL_ID ? &event->local_id
                                                 : &event->global_id) =
            fd_batch_id(h->batch, l->id);
    }
    if (l->phase == 'X' && l->duration_us <= INT64_MAX / 1000) {
        event->has_duration = true;
        event->duration = (int64_t)l->duration_us * 1000;
    }
    event->encloses = l->binds_enclosing;
    put_binding(h, l, event);
}

fd_status
fd_perfetto_event_put(fd_perfetto_event *h)
{
    legacy l = {.phase = '\0'};
    fd_status status = h->legacy.bytes != NULL ? read_legacy(h, &l) : FD_OK;
    if (status != FD_OK) {
        return status;
    }
    switch (h->type) {
    case FD_PB_TYPE_BEGIN:
    case FD_PB_TYPE_END:
        return put_slice(h, &l);
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
    if (h->legacy.bytes != NULL && l.phase != '\0') {
        put_legacy(h, &l);
    }
    return FD_OK;
}

void
fd_perfetto_event_flow(fd_perfetto_event *h, char phase, uint64_t id)
{
    fd_timeline_event *event = add_event(h, phase);
    event->id = fd_batch_id(h->batch, id);
    event->encloses = phase == 'f';
    event->follows = true;
    event->cat = event->name = fd_batch_static("\"flow\"");
}

bool
fd_perfetto_event_is_flow(uint32_t number)
{
    return number == FD_PB_EVENT_FLOWS || number == FD_PB_EVENT_OLD_FLOWS
        || number == FD_PB_EVENT_LAST_FLOWS
        || number == FD_PB_EVENT_OLD_LAST_FLOWS;
}

/* Add a category; several categories are joined to one text, as in Chrome
 * JSON: "a,b". */
static void
add_category(fd_perfetto_event *h, uint32_t category, fd_status *status)
{
    const fd_text_pool *texts = &h->tables->texts;
    if (h->category == 0 || category == 0) {
        h->category = category != 0 ? category : h->category;
        return;
    }
    fd_buffer both = {.bytes = NULL};
    fd_buffer_bytes(&both, fd_text_pool_get(texts, h->category),
                    fd_text_pool_size(texts, h->category));
    fd_buffer_text(&both, ",");
    fd_buffer_bytes(&both, fd_text_pool_get(texts, category),
                    fd_text_pool_size(texts, category));
    *status = both.status;
    if (both.status == FD_OK) {
        h->category =
            fd_perfetto_keep_text(h->tables, both.bytes, both.size, status);
    }
    fd_buffer_clear(&both);
}

/* Add one category number, or several packed ones. */
static void
add_categories(fd_perfetto_event *h, const fd_proto_field *f,
               fd_status *status)
{
    const char *at = f->bytes;
    const char *end = f->bytes + f->size;
    uint64_t iid = f->value;
    bool more = f->wire != FD_PROTO_BYTES || fd_proto_varint(&at, end, &iid);
    while (more && *status == FD_OK) {
        add_category(
            h, fd_perfetto_interned(h->from, FD_PB_INTERNED_CATEGORY, iid),
            status);
        more = at < end && fd_proto_varint(&at, end, &iid);
    }
}

static void
read_value(fd_perfetto_event *h, const fd_proto_field *f)
{
    h->has_value = true;
    h->is_real = f->number == FD_PB_EVENT_DOUBLE_COUNTER;
    h->value = f->value;
    memcpy(&h->real, &f->value, sizeof h->real);
}

fd_status
fd_perfetto_event_read(fd_perfetto_event *h, uint64_t *uuid)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    fd_proto_reader r = fd_proto_read(h->message.bytes, h->message.size);
    h->legacy.bytes = NULL;
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        bool bytes = f.wire == FD_PROTO_BYTES;
        switch (f.number) {
        case FD_PB_EVENT_TYPE:
            h->type = f.value;
            break;
        case FD_PB_EVENT_TRACK:
            *uuid = f.value;
            break;
        case FD_PB_EVENT_NAME_IID:
            h->name =
                fd_perfetto_interned(h->from, FD_PB_INTERNED_NAME, f.value);
            break;
        case FD_PB_EVENT_NAME:
            h->name = bytes ? text_field(h, &f, &status) : h->name;
            break;
        case FD_PB_EVENT_CATEGORY_IID:
            add_categories(h, &f, &status);
            break;
        case FD_PB_EVENT_CATEGORY:
            add_category(h, bytes ? text_field(h, &f, &status) : 0, &status);
            break;
        case FD_PB_EVENT_COUNTER:
        case FD_PB_EVENT_DOUBLE_COUNTER:
            read_value(h, &f);
            break;
        case FD_PB_EVENT_LEGACY:
            h->legacy = bytes ? f : h->legacy;
            break;
        case FD_PB_EVENT_NOTE:
            h->has_notes = h->has_notes || bytes;
            h->has_more = true;
            break;
        default:
            h->has_more = true;
            h->has_flows = h->has_flows || fd_perfetto_event_is_flow(f.number);
            break;
        }
    }
    return r.bad ? FD_EFORMAT : status;
}
