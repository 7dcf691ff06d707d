#include "events/writers/perfetto_copy.h"

#include "events/recorded/perfetto_fields.h"

#include <stdio.h>

enum {
    OWN_CLOCKS = 64,     /* up to COMMON_CLOCKS: of a sequence */
    COMMON_CLOCKS = 128, /* from here on of the whole trace */
    FAR_CLOCKS = 1 << 28,
    FIRST_TID = 2000000000 /* as in events/writers/perfetto_sequence.c */
};

typedef enum action {
    A_SEQUENCE,
    A_TRACK,
    A_FLOW,
    A_PID,
    A_TID,
    A_CLOCK,
    A_SORT,
    A_PROCESS_NAME,
    A_TRACK_NAME,
    A_DROP,
    A_MESSAGE
} action;

typedef struct rule {
    uint32_t field; /* 0: the end */
    action what;
    const struct rule *inner;
} rule;

static const rule process_rules[] = {
    {FD_PB_PROCESS_PID, A_PID, NULL},
    {FD_PB_PROCESS_SORT, A_SORT, NULL},
    {FD_PB_PROCESS_NAME, A_PROCESS_NAME, NULL},
    {0, A_DROP, NULL},
};
static const rule thread_rules[] = {
    {FD_PB_THREAD_PID, A_PID, NULL},
    {FD_PB_THREAD_TID, A_TID, NULL},
    {0, A_DROP, NULL},
};
static const rule track_rules[] = {
    {FD_PB_TRACK_UUID, A_TRACK, NULL},
    {FD_PB_TRACK_PARENT, A_TRACK, NULL},
    {FD_PB_TRACK_NAME, A_TRACK_NAME, NULL},
    {FD_PB_TRACK_STATIC_NAME, A_TRACK_NAME, NULL},
    {FD_PB_TRACK_PROCESS, A_MESSAGE, process_rules},
    {FD_PB_TRACK_THREAD, A_MESSAGE, thread_rules},
    {0, A_DROP, NULL},
};
static const rule legacy_rules[] = {
    {FD_PB_LEGACY_ID, A_FLOW, NULL},
    {FD_PB_LEGACY_BIND_ID, A_FLOW, NULL},
    {FD_PB_LEGACY_LOCAL_ID, A_FLOW, NULL},
    {FD_PB_LEGACY_GLOBAL_ID, A_FLOW, NULL},
    {FD_PB_LEGACY_PID, A_PID, NULL},
    {FD_PB_LEGACY_TID, A_TID, NULL},
    {0, A_DROP, NULL},
};
static const rule event_rules[] = {
    {FD_PB_EVENT_TRACK, A_TRACK, NULL},
    {FD_PB_EVENT_COUNTER_TRACKS, A_TRACK, NULL},
    {FD_PB_EVENT_DOUBLE_COUNTER_TRACKS, A_TRACK, NULL},
    {FD_PB_EVENT_FLOWS, A_FLOW, NULL},
    {FD_PB_EVENT_LAST_FLOWS, A_FLOW, NULL},
    {FD_PB_EVENT_OLD_FLOWS, A_FLOW, NULL},
    {FD_PB_EVENT_OLD_LAST_FLOWS, A_FLOW, NULL},
    {FD_PB_EVENT_LEGACY, A_MESSAGE, legacy_rules},
    {0, A_DROP, NULL},
};
static const rule defaults_rules[] = {
    {FD_PB_DEFAULTS_TRACK_EVENT, A_MESSAGE, event_rules},
    {FD_PB_DEFAULTS_CLOCK, A_CLOCK, NULL},
    {0, A_DROP, NULL},
};
static const rule clock_rules[] = {
    {FD_PB_CLOCK_ID, A_CLOCK, NULL},
    {0, A_DROP, NULL},
};
static const rule snapshot_rules[] = {
    {FD_PB_CLOCKS, A_MESSAGE, clock_rules},
    {FD_PB_CLOCKS_PRIMARY, A_DROP, NULL},
    {0, A_DROP, NULL},
};
static const rule packet_rules[] = {
    {FD_PB_PACKET_TRACK_EVENT, A_MESSAGE, event_rules},
    {FD_PB_PACKET_SEQUENCE, A_SEQUENCE, NULL},
    {FD_PB_PACKET_CLOCK, A_CLOCK, NULL},
    {FD_PB_PACKET_TRACK, A_MESSAGE, track_rules},
    {FD_PB_PACKET_DEFAULTS, A_MESSAGE, defaults_rules},
    {FD_PB_PACKET_CLOCK_SNAPSHOT, A_MESSAGE, snapshot_rules},
    {FD_PB_PACKET_PROCESS, A_MESSAGE, process_rules},
    {FD_PB_PACKET_THREAD, A_MESSAGE, thread_rules},
    {0, A_DROP, NULL},
};

fd_status
fd_perfetto_copy_open(fd_perfetto_copy *c, const char *path,
                      fd_timeline_ids *ids, fd_perfetto_spare *spare,
                      fd_error *error)
{
    *c = (fd_perfetto_copy){.ids = ids, .spare = spare};
    return fd_packets_open(&c->packets, path, error);
}

void
fd_perfetto_copy_close(fd_perfetto_copy *c)
{
    fd_packets_close(&c->packets);
    fd_map_clear(&c->tracks);
    fd_map_clear(&c->sequences);
    fd_map_clear(&c->clocked);
    fd_vector_clear(&c->described);
    fd_perfetto_drift_close(&c->drift);
    fd_buffer_clear(&c->scratch);
    fd_buffer_clear(&c->packet);
}

/* Map a number of the input to one of the merge. */
static fd_status
renumber(fd_map *map, uint64_t key, uint32_t *spare, uint32_t *number)
{
    *number = fd_map_get(map, key);
    if (*number != 0) {
        return FD_OK;
    }
    *number = (*spare)++;
    return fd_map_put(map, key, *number);
}

static uint32_t
clock_of(const fd_perfetto_copy *c, uint64_t id)
{
    uint32_t place = (uint32_t)c->ids->place;
    return id >= OWN_CLOCKS && id < COMMON_CLOCKS ? (uint32_t)id
         : id < OWN_CLOCKS
             ? COMMON_CLOCKS + place * OWN_CLOCKS + (uint32_t)id
             : FAR_CLOCKS + (place << 12) + ((uint32_t)id & 0xFFF);
}

static fd_span
spelled(char *text, size_t room, uint64_t number)
{
    int size = snprintf(text, room, "%llu", (unsigned long long)number);
    return (fd_span){text, text + size};
}

static fd_status
find_process(fd_perfetto_copy *c, uint64_t pid, uint32_t *process)
{
    char text[24];
    fd_status status = fd_timeline_ids_process(
        c->ids, spelled(text, sizeof text, (uint32_t)pid), process);
    while (status == FD_OK && c->described.count <= *process) {
        status = fd_vector_push(&c->described, false);
    }
    return status;
}

static fd_status
new_number(fd_perfetto_copy *c, action what, uint64_t value, uint64_t *made)
{
    uint32_t number = 0;
    uint32_t process;
    char text[24];
    fd_status status = FD_OK;
    switch (what) {
    case A_SEQUENCE:
        status =
            renumber(&c->sequences, value + 1, &c->spare->sequence, &number);
        break;
    case A_TRACK:
        status = renumber(&c->tracks, value != 0 ? value : UINT64_MAX,
                          &c->spare->track, &number);
        break;
    case A_FLOW:
        *made =
            fd_timeline_ids_number(c->ids, spelled(text, sizeof text, value));
        return FD_OK;
    case A_PID:
        status = find_process(c, value, &process);
        number = status == FD_OK ? c->ids->processes.list[process].pid : 0;
        break;
    case A_TID:
        status = fd_timeline_ids_thread(
            c->ids, c->pid, spelled(text, sizeof text, (uint32_t)value),
            &process);
        number = status == FD_OK ? c->ids->threads.list[process].tid
                                       - FD_TIMELINE_FIRST_TID + FIRST_TID
                                 : 0;
        break;
    case A_CLOCK:
        number = clock_of(c, value);
        break;
    case A_SORT:
        value = value < FD_TIMELINE_PIDS ? value : FD_TIMELINE_PIDS - 1;
        number = fd_timeline_ids_place(c->ids, (uint32_t)value);
        break;
    case A_PROCESS_NAME:
    case A_TRACK_NAME:
    case A_DROP:
    case A_MESSAGE:
        break;
    }
    *made = number;
    return status;
}

static fd_status
put_one(fd_perfetto_copy *c, action what, uint32_t wire, uint64_t value,
        fd_buffer *to)
{
    uint64_t made;
    uint8_t bytes[16];
    fd_status status = new_number(c, what, value, &made);
    if (wire == FD_PROTO_FIXED64) {
        for (int i = 0; i < 8; i++) {
            bytes[i] = (uint8_t)(made >> 8 * i);
        }
        fd_buffer_bytes(to, bytes, 8);
    }
    else {
        fd_buffer_bytes(to, bytes,
                        (size_t)(fd_proto_put(bytes, made) - bytes));
    }
    return status;
}

static void
put_tag(fd_buffer *to, uint32_t number, uint32_t wire)
{
    uint8_t bytes[16];
    fd_buffer_bytes(
        to, bytes,
        (size_t)(fd_proto_put(bytes, (uint64_t)number << 3 | wire) - bytes));
}

/* Write packed numbers one by one, which readers accept. */
static fd_status
put_packed(fd_perfetto_copy *c, action what, const fd_proto_field *f,
           fd_buffer *to)
{
    bool fixed =
        f->number == FD_PB_EVENT_FLOWS || f->number == FD_PB_EVENT_LAST_FLOWS;
    uint32_t wire = fixed ? FD_PROTO_FIXED64 : FD_PROTO_VARINT;
    const char *at = f->bytes;
    const char *end = f->bytes + f->size;
    fd_status status = FD_OK;
    while (at < end && status == FD_OK) {
        uint64_t value = 0;
        if (fixed && end - at < 8) {
            return FD_EFORMAT;
        }
        for (int i = 0; fixed && i < 8; i++) {
            value |= (uint64_t)(unsigned char)*at++ << 8 * i;
        }
        if (!fixed && !fd_proto_varint(&at, end, &value)) {
            return FD_EFORMAT;
        }
        put_tag(to, f->number, wire);
        status = put_one(c, what, wire, value, to);
    }
    return status;
}

static fd_span
label_of(const fd_perfetto_copy *c)
{
    const char *label = c->ids->label;
    return (fd_span){label, label + strlen(label)};
}

static void
put_name(fd_perfetto_copy *c, const fd_proto_field *f, fd_buffer *to)
{
    c->scratch.size = 0;
    fd_timeline_ids_title(c->ids, label_of(c),
                          (fd_span){f->bytes, f->bytes + f->size},
                          &c->scratch);
    fd_proto_bytes(to, f->number, c->scratch.bytes, c->scratch.size);
}

/* Read the fields that others depend on. */
static fd_status
look_ahead(fd_perfetto_copy *c, const fd_proto_field *message,
           const rule *rules)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    uint32_t process;
    uint32_t pid = rules == legacy_rules ? FD_PB_LEGACY_PID : FD_PB_THREAD_PID;
    fd_status status = FD_OK;
    if (rules == track_rules) {
        c->bare = true;
    }
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        if (rules == track_rules) {
            c->bare = c->bare && f.number != FD_PB_TRACK_PARENT
                   && f.number != FD_PB_TRACK_PROCESS
                   && f.number != FD_PB_TRACK_THREAD;
        }
        else if (f.number == pid
                 && (rules == thread_rules || rules == legacy_rules
                     || rules == process_rules)) {
            status = find_process(c, f.value, &process);
            c->pid = status == FD_OK ? c->ids->processes.list[process].pid : 0;
            if (status == FD_OK && rules == process_rules) {
                c->described.list[process] = true;
            }
        }
    }
    return r.bad ? FD_EFORMAT : status;
}

static fd_status rewrite(fd_perfetto_copy *c, const fd_proto_field *message,
                         const rule *rules, fd_buffer *to);

static fd_status
put_message(fd_perfetto_copy *c, const fd_proto_field *f, const rule *rules,
            fd_buffer *to)
{
    uint8_t head[20];
    size_t from = to->size;
    fd_status status = rewrite(c, f, rules, to);
    if (status == FD_OK && rules == process_rules && !c->said) {
        put_name(c,
                 &(fd_proto_field){.number = FD_PB_PROCESS_NAME, .bytes = ""},
                 to);
    }
    size_t size = to->size - from;
    uint8_t *end = fd_proto_put(
        fd_proto_put(head, (uint64_t)f->number << 3 | FD_PROTO_BYTES), size);
    size_t more = (size_t)(end - head);
    fd_buffer_bytes(to, head, more);
    if (to->status == FD_OK) {
        memmove(to->bytes + from + more, to->bytes + from, size);
        memcpy(to->bytes + from, head, more);
    }
    return status;
}

static fd_status
apply(fd_perfetto_copy *c, const rule *how, const fd_proto_field *f,
      fd_buffer *to)
{
    bool bytes = f->wire == FD_PROTO_BYTES;
    switch (how->what) {
    case A_DROP:
        return FD_OK;
    case A_MESSAGE:
        if (bytes) {
            return put_message(c, f, how->inner, to);
        }
        break;
    case A_PROCESS_NAME:
        c->said = true;
        if (bytes) {
            put_name(c, f, to);
            return FD_OK;
        }
        break;
    case A_TRACK_NAME:
        if (bytes && c->bare) {
            put_name(c, f, to);
            return FD_OK;
        }
        break;
    case A_SEQUENCE:
    case A_TRACK:
    case A_FLOW:
    case A_PID:
    case A_TID:
    case A_CLOCK:
    case A_SORT:
        if (bytes) {
            return put_packed(c, how->what, f, to);
        }
        put_tag(to, f->number, f->wire);
        return put_one(c, how->what, f->wire, f->value, to);
    }
    fd_buffer_bytes(to, f->from, (size_t)(f->to - f->from));
    return FD_OK;
}

static fd_status
rewrite(fd_perfetto_copy *c, const fd_proto_field *message, const rule *rules,
        fd_buffer *to)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    if (rules == track_rules || rules == process_rules || rules == thread_rules
        || rules == legacy_rules) {
        c->said = false;
        status = look_ahead(c, message, rules);
    }
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (status == FD_OK && fd_proto_next(&r, &f)) {
        const rule *how = rules;
        while (how->field != 0 && how->field != f.number) {
            how++;
        }
        if (how->field == 0 || f.wire == FD_PROTO_FIXED32) {
            fd_buffer_bytes(to, f.from, (size_t)(f.to - f.from));
        }
        else {
            status = apply(c, how, &f, to);
        }
    }
    return r.bad ? FD_EFORMAT : status;
}

/* Whether a packet has the default clock, boot time. */
static fd_status
wants_clock(fd_perfetto_copy *c, bool *wants)
{
    fd_proto_field f;
    fd_proto_field g;
    fd_status status = FD_OK;
    uint64_t id = 0;
    bool timed = false;
    bool says = false;
    bool defaults = false;
    bool clocked = false;
    bool cleared = false;
    fd_proto_reader r = fd_proto_read(c->packets.bytes, c->packets.size);
    while (fd_proto_next(&r, &f)) {
        timed = timed || f.number == FD_PB_PACKET_TIMESTAMP;
        says = says || f.number == FD_PB_PACKET_CLOCK;
        id = f.number == FD_PB_PACKET_SEQUENCE ? (uint32_t)f.value : id;
        cleared = cleared
               || (f.number == FD_PB_PACKET_FLAGS
                   && (f.value & FD_PB_STATE_CLEARED) != 0);
        if (f.number == FD_PB_PACKET_DEFAULTS && f.wire == FD_PROTO_BYTES) {
            fd_proto_reader inner = fd_proto_read(f.bytes, f.size);
            defaults = true;
            while (fd_proto_next(&inner, &g)) {
                clocked = clocked || g.number == FD_PB_DEFAULTS_CLOCK;
            }
        }
    }
    if (defaults || cleared) {
        status = fd_map_put(&c->clocked, id + 1, clocked);
    }
    *wants = timed && !says && fd_map_get(&c->clocked, id + 1) == 0;
    return r.bad ? FD_EFORMAT : status;
}

/* From `own` on times are shifted by `offset`. */
static void
put_offset(const fd_perfetto_copy *c, int64_t own, int64_t offset,
           fd_buffer *to)
{
    const fd_perfetto_clock *base = &c->clock;
    const fd_perfetto_reading readings[] = {
        {clock_of(c, FD_PB_BOOTTIME), own},
        {FD_PB_BOOTTIME, own + offset},
        {FD_PB_REALTIME, base->base_ns + own + offset}};
    fd_perfetto_snapshot(to, c->sequence, readings, base->has_base ? 3 : 2);
}

/* One more offset of a clock that drifts. */
static bool
put_next_offset(fd_perfetto_copy *c, fd_buffer *to, fd_status *status)
{
    int64_t own;
    int64_t offset;
    bool any = fd_perfetto_drift_next(&c->drift, &own, &offset, status);
    if (any) {
        put_offset(c, own, offset, to);
    }
    return any;
}

bool
fd_perfetto_copy_next(fd_perfetto_copy *c, fd_buffer *to, fd_status *status)
{
    bool wants;
    *status = FD_OK;
    if (c->drift.times != NULL
        && (put_next_offset(c, to, status) || *status != FD_OK)) {
        return *status == FD_OK;
    }
    if (!fd_packets_next(&c->packets)) {
        *status = c->packets.status;
        return false;
    }
    fd_proto_field packet = {.bytes = c->packets.bytes,
                             .size = c->packets.size};
    c->packet.size = 0;
    *status = wants_clock(c, &wants);
    if (*status == FD_OK) {
        *status = rewrite(c, &packet, packet_rules, &c->packet);
    }
    if (*status == FD_OK && wants) {
        fd_proto_number(&c->packet, FD_PB_PACKET_CLOCK,
                        clock_of(c, FD_PB_BOOTTIME));
    }
    if (*status == FD_EFORMAT || *status == FD_EFULL) {
        fd_packets_bad(&c->packets);
        *status = FD_OK;
        return true;
    }
    c->copied++;
    fd_proto_message(to, FD_PB_TRACE_PACKET, &c->packet);
    *status = *status == FD_OK ? to->status : *status;
    return *status == FD_OK;
}

static void
send(fd_perfetto_copy *c, uint32_t field, fd_buffer *message, fd_buffer *to)
{
    c->packet.size = 0;
    fd_proto_message(&c->packet, field, message);
    fd_proto_number(&c->packet, FD_PB_PACKET_SEQUENCE, c->spare->sequence);
    fd_proto_message(to, FD_PB_TRACE_PACKET, &c->packet);
}

fd_status
fd_perfetto_copy_begin(fd_perfetto_copy *c, const fd_perfetto_clock *clock,
                       const char *path, const char *output, fd_buffer *to,
                       fd_error *error)
{
    int64_t offset = clock->map.offset_ns;
    c->sequence = c->spare->sequence++;
    c->clock = *clock;
    if (clock->map.drift_ppt != 0) {
        fd_status status =
            fd_perfetto_drift_open(&c->drift, clock, path, output, error);
        if (status == FD_OK) {
            put_next_offset(c, to, &status);
        }
        return status;
    }
    put_offset(c, offset < 0 ? -offset : 0, offset, to);
    return FD_OK;
}

void
fd_perfetto_copy_end(fd_perfetto_copy *c, const char *label, fd_buffer *to)
{
    fd_buffer process = {.bytes = NULL};
    fd_buffer track = {.bytes = NULL};
    for (uint32_t i = 0; i < c->ids->processes.count; i++) {
        uint32_t pid = c->ids->processes.list[i].pid;
        if (pid == 0 || (i < c->described.count && c->described.list[i])) {
            continue;
        }
        c->scratch.size = 0;
        fd_timeline_ids_title(c->ids, label_of(c), (fd_span){"", ""},
                              &c->scratch);
        fd_proto_number(&process, FD_PB_PROCESS_PID, pid);
        fd_proto_number(&process, FD_PB_PROCESS_SORT,
                        fd_timeline_ids_place(c->ids, i));
        fd_proto_bytes(&process, FD_PB_PROCESS_NAME, c->scratch.bytes,
                       c->scratch.size);
        fd_proto_text(&process, FD_PB_PROCESS_LABEL, label);
        fd_proto_number(&track, FD_PB_TRACK_UUID, c->spare->track++);
        fd_proto_message(&track, FD_PB_TRACK_PROCESS, &process);
        send(c, FD_PB_PACKET_TRACK, &track, to);
    }
    c->spare->sequence++;
    fd_buffer_clear(&process);
    fd_buffer_clear(&track);
}
