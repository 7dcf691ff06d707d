#include "events/readers/perfetto_tables.h"

#include "base/budget.h"
#include "base/rows.h"
#include "events/recorded/perfetto_fields.h"

void
fd_perfetto_tables_rewind(fd_perfetto_tables *t)
{
    for (uint32_t i = 0; i < t->sequences.count; i++) {
        fd_map_clear(&t->sequences.list[i].interned);
        fd_perfetto_clocks_clear(&t->sequences.list[i].clocks);
    }
    fd_vector_clear(&t->sequences);
    fd_perfetto_clocks_clear(&t->clocks);
    fd_map_clear(&t->sequence_of);
    t->last_sequence = 0;
}

void
fd_perfetto_tables_clear(fd_perfetto_tables *t)
{
    for (uint32_t i = 0; i < t->tracks.count; i++) {
        fd_vector_clear(&t->tracks.list[i].open);
    }
    fd_perfetto_tables_rewind(t);
    fd_text_pool_clear(&t->texts);
    fd_vector_clear(&t->json);
    fd_batch_clear(&t->spelled);
    fd_vector_clear(&t->tracks);
    fd_map_clear(&t->track_of);
}

/* Return a map key, which must not be 0. The replacement of uuid 0 is unlikely
 * to be used by a track. */
static uint64_t
key_of(uint64_t uuid)
{
    return uuid != 0 ? uuid : UINT64_C(0x9E3779B97F4A7C15);
}

fd_perfetto_track *
fd_perfetto_track_of(fd_perfetto_tables *t, uint64_t uuid, fd_status *status)
{
    uint32_t index = t->last_track;
    if (index != 0 && t->tracks.list[index - 1].uuid == uuid) {
        return &t->tracks.list[index - 1];
    }
    if (t->tracks.count >= fd_budget(FD_PERFETTO_MOST_TRACKS)
        && fd_map_get(&t->track_of, key_of(uuid)) == 0) {
        return NULL;
    }
    fd_perfetto_track *track =
        fd_row(&t->tracks, &t->track_of, key_of(uuid),
               &(fd_perfetto_track){.uuid = uuid, .unit = 1});
    if (track == NULL) {
        *status = FD_ENOMEM;
        return NULL;
    }
    t->last_track = (uint32_t)(track - t->tracks.list) + 1;
    return track;
}

const fd_perfetto_track *
fd_perfetto_parent(const fd_perfetto_tables *t, const fd_perfetto_track *track)
{
    uint32_t index = track->parent == 0
                       ? 0
                       : fd_map_get(&t->track_of, key_of(track->parent));
    return index == 0 ? NULL : &t->tracks.list[index - 1];
}

bool
fd_perfetto_pid_of(const fd_perfetto_tables *t, const fd_perfetto_track *track,
                   uint32_t *pid)
{
    for (int i = 0; i < FD_PERFETTO_PARENTS && !track->has_pid; i++) {
        track = fd_perfetto_parent(t, track);
        if (track == NULL) {
            return false;
        }
    }
    *pid = track->pid;
    return track->has_pid;
}

fd_span
fd_perfetto_json(fd_perfetto_tables *t, uint32_t text, fd_event_batch *batch)
{
    static const fd_span none = {NULL, NULL};
    bool stored = text < FD_PERFETTO_MOST_JSON;
    while (stored && t->json.count <= text && batch->status == FD_OK) {
        batch->status = fd_vector_push(&t->json, none);
    }
    if (text == 0 || batch->status != FD_OK) {
        return none;
    }
    fd_span *json = stored ? &t->json.list[text] : NULL;
    if (json == NULL || json->from == NULL) {
        fd_event_batch *to = stored ? &t->spelled : batch;
        fd_span made = fd_batch_json(to, fd_text_pool_get(&t->texts, text),
                                     fd_text_pool_size(&t->texts, text));
        batch->status = to->status;
        if (json == NULL) {
            return made;
        }
        *json = made;
    }
    return *json;
}

static uint64_t
interned_key(uint32_t kind, uint64_t iid)
{
    return (uint64_t)kind << 56 ^ (iid & (UINT64_MAX >> 8));
}

uint32_t
fd_perfetto_interned(const fd_perfetto_from *from, uint32_t kind, uint64_t iid)
{
    return from == NULL ? 0
                        : fd_map_get(&from->interned, interned_key(kind, iid));
}

uint32_t
fd_perfetto_keep_text(fd_perfetto_tables *t, const char *text, size_t size,
                      fd_status *status)
{
    uint32_t id = 0;
    if (fd_buffer_fits(&t->texts.bytes, size, fd_budget(FD_PERFETTO_MOST_TEXT))
        && fd_text_pool_add(&t->texts, text, size, &id) != FD_OK) {
        *status = FD_ENOMEM;
    }
    return id;
}

static fd_perfetto_from *
sequence_of(fd_perfetto_tables *t, uint32_t id, fd_status *status)
{
    uint32_t index = t->last_sequence;
    if (index != 0 && t->sequences.list[index - 1].id == id) {
        return &t->sequences.list[index - 1];
    }
    if (t->sequences.count >= fd_budget(FD_PERFETTO_MOST_SEQUENCES)
        && fd_map_get(&t->sequence_of, (uint64_t)id + 1) == 0) {
        return NULL;
    }
    fd_perfetto_from *from =
        fd_row(&t->sequences, &t->sequence_of, (uint64_t)id + 1,
               &(fd_perfetto_from){.id = id});
    if (from == NULL) {
        *status = FD_ENOMEM;
        return NULL;
    }
    t->last_sequence = (uint32_t)(from - t->sequences.list) + 1;
    return from;
}

/* Add a label of a process; labels are joined to one text: "a, b". */
static void
add_label(fd_perfetto_tables *t, fd_perfetto_track *track,
          const fd_proto_field *f, fd_status *status)
{
    fd_buffer both = {.bytes = NULL};
    if (track->labels != 0) {
        fd_buffer_bytes(&both, fd_text_pool_get(&t->texts, track->labels),
                        fd_text_pool_size(&t->texts, track->labels));
        fd_buffer_text(&both, ", ");
    }
    fd_buffer_bytes(&both, f->bytes, f->size);
    fd_buffer_bytes(&both, "", 1);
    *status = both.status;
    if (both.status == FD_OK) {
        track->labels =
            fd_perfetto_keep_text(t, both.bytes, both.size - 1, status);
    }
    fd_buffer_clear(&both);
}

static void
take_process(fd_perfetto_tables *t, fd_perfetto_track *track,
             const fd_proto_field *message, fd_status *status)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    track->kind = FD_PERFETTO_PROCESS;
    track->labels = 0;
    while (*status == FD_OK && fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_PROCESS_PID) {
            track->pid = (uint32_t)f.value;
            track->has_pid = true;
        }
        else if (f.number == FD_PB_PROCESS_NAME && f.wire == FD_PROTO_BYTES) {
            track->name = fd_perfetto_keep_text(t, f.bytes, f.size, status);
        }
        else if (f.number == FD_PB_PROCESS_LABEL && f.wire == FD_PROTO_BYTES) {
            add_label(t, track, &f, status);
        }
        else if (f.number == FD_PB_PROCESS_SORT) {
            track->sorted = true;
            track->sort_index = (int32_t)f.value;
        }
    }
}

static void
take_thread(fd_perfetto_tables *t, fd_perfetto_track *track,
            const fd_proto_field *message, fd_status *status)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    track->kind = FD_PERFETTO_THREAD;
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_THREAD_PID) {
            track->pid = (uint32_t)f.value;
            track->has_pid = true;
        }
        else if (f.number == FD_PB_THREAD_TID) {
            track->tid = (uint32_t)f.value;
        }
        else if (f.number == FD_PB_THREAD_NAME && f.wire == FD_PROTO_BYTES) {
            track->name = fd_perfetto_keep_text(t, f.bytes, f.size, status);
        }
        else if (f.number == FD_PB_THREAD_SORT) {
            track->sorted = true;
            track->sort_index = (int32_t)f.value;
        }
    }
}

/* Store encoded fields as a text, and empty the buffer. */
static uint32_t
keep_fields(fd_perfetto_tables *t, fd_buffer *fields, fd_status *status)
{
    uint32_t text = 0;
    *status = fields->status != FD_OK ? fields->status : *status;
    if (*status == FD_OK && fields->size > 0) {
        text = fd_perfetto_keep_text(t, fields->bytes, fields->size, status);
    }
    fd_buffer_clear(fields);
    return text;
}

static void
take_counter(fd_perfetto_tables *t, fd_perfetto_track *track,
             const fd_proto_field *message, fd_status *status)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    fd_buffer same = {.bytes = NULL};
    track->kind = FD_PERFETTO_COUNTS;
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_COUNTER_UNIT_MULTIPLIER && f.value != 0) {
            track->unit = (int64_t)f.value;
        }
        else if (f.number == FD_PB_COUNTER_INCREMENTAL) {
            track->incremental = f.value != 0;
            continue;
        }
        fd_proto_copy(&same, &r, &f);
    }
    track->counter = keep_fields(t, &same, status);
}

/* Return whether a field of TrackDescriptor is stored in `rest`: the order of
 * siblings, the description, and so on, but no names. */
static bool
is_rest(uint32_t number)
{
    return number >= FD_PB_TRACK_ORDERING
        && number <= FD_PB_TRACK_MERGE_KEY_INT
        && number != FD_PB_TRACK_ATRACE_NAME;
}

static fd_status
take_track(fd_perfetto_tables *t, const fd_proto_field *message)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    uint64_t uuid = 0;
    fd_status status = FD_OK;
    while (fd_proto_next(&r, &f)) {
        uuid = f.number == FD_PB_TRACK_UUID ? f.value : uuid;
    }
    if (r.bad) {
        return FD_EFORMAT;
    }
    fd_perfetto_track *track = fd_perfetto_track_of(t, uuid, &status);
    if (track == NULL) {
        return status;
    }
    fd_buffer rest = {.bytes = NULL};
    track->pid_text = (fd_span){NULL, NULL};
    r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f) && status == FD_OK) {
        bool bytes = f.wire == FD_PROTO_BYTES;
        if (f.number == FD_PB_TRACK_PARENT) {
            track->parent = f.value != uuid ? f.value : 0;
        }
        else if (f.number == FD_PB_TRACK_PROCESS && bytes) {
            take_process(t, track, &f, &status);
        }
        else if (f.number == FD_PB_TRACK_THREAD && bytes) {
            take_thread(t, track, &f, &status);
        }
        else if (f.number == FD_PB_TRACK_COUNTER && bytes) {
            take_counter(t, track, &f, &status);
        }
        else if ((f.number == FD_PB_TRACK_NAME
                  || f.number == FD_PB_TRACK_STATIC_NAME
                  || f.number == FD_PB_TRACK_ATRACE_NAME)
                 && bytes && track->name == 0) {
            track->name = fd_perfetto_keep_text(t, f.bytes, f.size, &status);
            track->has_name = true;
        }
        else if (is_rest(f.number)) {
            fd_proto_copy(&rest, &r, &f);
        }
    }
    track->rest = keep_fields(t, &rest, &status);
    track->kind =
        track->kind == FD_PERFETTO_UNKNOWN ? FD_PERFETTO_OTHER : track->kind;
    return status;
}

/* Store an interned text. Of a source location, store the encoded fields
 * except its iid. */
static fd_status
take_text(fd_perfetto_tables *t, fd_perfetto_from *from, uint32_t kind,
          const fd_proto_field *message)
{
    fd_proto_field f;
    uint64_t iid = 0;
    uint32_t text = 0;
    fd_status status = FD_OK;
    fd_buffer source = {.bytes = NULL};
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_INTERNED_IID) {
            iid = f.value;
        }
        else if (kind == FD_PB_INTERNED_SOURCE) {
            fd_proto_copy(&source, &r, &f);
        }
        else if (f.number == FD_PB_INTERNED_TEXT && f.wire == FD_PROTO_BYTES) {
            text = fd_perfetto_keep_text(t, f.bytes, f.size, &status);
        }
    }
    text = kind == FD_PB_INTERNED_SOURCE ? keep_fields(t, &source, &status)
                                         : text;
    if (status == FD_OK && iid != 0 && text != 0
        && from->interned.count < fd_budget(FD_PERFETTO_MOST_INTERNED)) {
        status = fd_map_put(&from->interned, interned_key(kind, iid), text);
    }
    return r.bad ? FD_EFORMAT : status;
}

static fd_status
take_interned(fd_perfetto_tables *t, fd_perfetto_from *from,
              const fd_proto_field *message)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        bool known = f.number == FD_PB_INTERNED_CATEGORY
                  || f.number == FD_PB_INTERNED_NAME
                  || f.number == FD_PB_INTERNED_NOTE_NAME
                  || f.number == FD_PB_INTERNED_SOURCE
                  || f.number == FD_PB_INTERNED_NOTE_TYPE
                  || f.number == FD_PB_INTERNED_NOTE_STRING;
        if (known && f.wire == FD_PROTO_BYTES) {
            status = take_text(t, from, f.number, &f);
        }
    }
    return r.bad ? FD_EFORMAT : status;
}

static fd_perfetto_clocks *
own_clocks(fd_perfetto_from *from)
{
    return from != NULL ? &from->clocks : NULL;
}

static void
take_defaults(fd_perfetto_from *from, const fd_proto_field *message)
{
    fd_proto_field f;
    fd_proto_field g;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    from->clock = 0;
    from->track = 0;
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_DEFAULTS_CLOCK) {
            from->clock = (uint32_t)f.value;
        }
        else if (f.number == FD_PB_DEFAULTS_TRACK_EVENT
                 && f.wire == FD_PROTO_BYTES) {
            fd_proto_reader inner = fd_proto_read(f.bytes, f.size);
            while (fd_proto_next(&inner, &g)) {
                from->track =
                    g.number == FD_PB_EVENT_TRACK ? g.value : from->track;
            }
        }
    }
}

/* Read the event and the fields that all others depend on: the sequence, and
 * whether its state is cleared. `*more`: the packet has other fields. */
static fd_status
take_head(fd_perfetto_tables *t, const char *bytes, size_t size,
          fd_perfetto_packet *packet, uint32_t *clock, uint64_t *time,
          bool *more)
{
    fd_proto_field f;
    uint32_t id = 0;
    bool cleared = false;
    fd_status status = FD_OK;
    fd_proto_reader r = fd_proto_read(bytes, size);
    *clock = 0;
    *more = false;
    while (fd_proto_next(&r, &f)) {
        switch (f.number) {
        case FD_PB_PACKET_TRACK_EVENT:
            packet->event = f.wire == FD_PROTO_BYTES ? f : packet->event;
            break;
        case FD_PB_PACKET_SEQUENCE:
            id = (uint32_t)f.value;
            break;
        case FD_PB_PACKET_FLAGS:
            cleared = cleared || (f.value & FD_PB_STATE_CLEARED) != 0;
            break;
        case FD_PB_PACKET_CLEARED:
            cleared = cleared || f.value != 0;
            break;
        case FD_PB_PACKET_CLOCK:
            *clock = (uint32_t)f.value;
            break;
        case FD_PB_PACKET_TIMESTAMP:
            *time = f.value;
            packet->has_time = true;
            break;
        default:
            *more = true;
            break;
        }
    }
    if (r.bad) {
        return FD_EFORMAT;
    }
    packet->from = sequence_of(t, id, &status);
    if (cleared && packet->from != NULL) {
        fd_map_clear(&packet->from->interned);
        packet->from->clock = 0;
        packet->from->track = 0;
    }
    return status;
}

/* Return whether a packet field, by its number, is read elsewhere or has no
 * content to report as lost. */
static bool
is_known(uint32_t number)
{
    static const uint8_t plain[] = {3,  6,  8,  10, 11, 12, 13, 36, 41,
                                    42, 58, 59, 60, 79, 87, 89, 98};
    for (size_t i = 0; i < sizeof plain; i++) {
        if (plain[i] == number) {
            return true;
        }
    }
    return false;
}

/* Read the origin. The first one is kept: a merge writes its own before those
 * of its inputs. */
static bool
take_origin(fd_perfetto_tables *t, const fd_proto_field *message)
{
    static const char ours[] = "fastdispatch: ";
    const size_t least = sizeof ours - 1;
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_SYSTEM_SERVICE && f.wire == FD_PROTO_BYTES
            && f.size >= least && f.size < sizeof t->origin
            && memcmp(f.bytes, ours, least) == 0) {
            if (t->origin[0] == '\0') {
                memcpy(t->origin, f.bytes, f.size);
            }
            return true;
        }
    }
    return false;
}

static fd_status
take_fields(fd_perfetto_tables *t, const char *bytes, size_t size,
            fd_perfetto_packet *packet)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    fd_proto_reader r = fd_proto_read(bytes, size);
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        bool is_bytes = f.wire == FD_PROTO_BYTES;
        if (f.number == FD_PB_PACKET_TRACK && is_bytes) {
            status = take_track(t, &f);
        }
        else if (f.number == FD_PB_PACKET_CLOCK_SNAPSHOT && is_bytes) {
            status = fd_perfetto_clocks_snapshot(&t->clocks,
                                                 own_clocks(packet->from), &f,
                                                 &t->has_base, &t->base_ns);
        }
        else if (f.number == FD_PB_PACKET_DEFAULTS && is_bytes
                 && packet->from != NULL) {
            take_defaults(packet->from, &f);
        }
        else if (f.number == FD_PB_PACKET_INTERNED && is_bytes
                 && packet->from != NULL) {
            status = take_interned(t, packet->from, &f);
        }
        else if (!is_known(f.number)
                 && !(f.number == FD_PB_PACKET_SYSTEM && is_bytes
                      && take_origin(t, &f))) {
            packet->other = true;
        }
    }
    return status;
}

fd_status
fd_perfetto_tables_take(fd_perfetto_tables *t, const char *bytes, size_t size,
                        fd_perfetto_packet *packet)
{
    uint32_t clock;
    uint64_t time = 0;
    bool more;
    *packet = (fd_perfetto_packet){.from = NULL};
    packet->event.bytes = NULL;
    fd_status status = take_head(t, bytes, size, packet, &clock, &time, &more);
    if (status == FD_OK && more) {
        status = take_fields(t, bytes, size, packet);
    }
    if (status == FD_OK && packet->has_time) {
        clock =
            clock == 0 && packet->from != NULL ? packet->from->clock : clock;
        packet->lost =
            !fd_perfetto_clocks_boot(&t->clocks, own_clocks(packet->from),
                                     clock, (int64_t)time, &packet->time);
    }
    return status;
}
