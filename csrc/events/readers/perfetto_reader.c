#include "events/readers/perfetto_reader.h"

#include "base/budget.h"
#include "base/rows.h"
#include "events/perfetto_packets.h"
#include "events/readers/perfetto_event.h"
#include "events/recorded/native_packets.h"
#include "events/recorded/perfetto_fields.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FLOWS = 1 << 20 };

/* A flow; it begins at its earliest slice. */
typedef struct flow {
    int64_t first;
    bool begun;
} flow;

typedef struct reading {
    fd_packets packets;
    fd_perfetto_tables tables;
    fd_perfetto_event event; /* of the last packet; the items of the batch
                              * refer to it */
    FD_VECTOR(flow) flows;
    fd_map flow_of;    /* id -> index + 1 */
    uint64_t others;   /* packets with other contents */
    uint64_t timeless; /* events whose clock is unknown */
    bool second;       /* second pass: events are added to the batch */
    bool begun;        /* the top-level members were added */
    uint32_t row;      /* number of tracks whose metadata rows were added */
} reading;

/* Return whether the content starts with a packet: field 1, its length, and
 * fields. JSON after a newline would have a bracket soon, which is not the
 * start of a field. */
bool
fd_perfetto_matches(const char *path, const char *head, size_t size)
{
    uint64_t length;
    uint64_t tag;
    fd_proto_field f;
    const char *at = head + 1;
    const char *end = head + size;
    (void)path;
    if (size < 2 || *head != (FD_PB_TRACE_PACKET << 3 | FD_PROTO_BYTES)
        || !fd_proto_varint(&at, end, &length)) {
        return false;
    }
    if (length <= (uint64_t)(end - at)) {
        fd_proto_reader r = fd_proto_read(at, (size_t)length);
        while (fd_proto_next(&r, &f)) {
        }
        return !r.bad && length > 0;
    }
    /* A newline and a bracket are text, unless the packet is complete. */
    return head[1] != '{' && head[1] != '[' && fd_proto_varint(&at, end, &tag)
        && tag >> 3 != 0
        && ((tag & 7) <= FD_PROTO_BYTES || (tag & 7) == FD_PROTO_FIXED32);
}

static void
release(void *context)
{
    reading *r = context;
    fd_packets_close(&r->packets);
    fd_perfetto_tables_clear(&r->tables);
    fd_vector_clear(&r->flows);
    fd_map_clear(&r->flow_of);
    fd_free(r);
}

static flow *
find_flow(reading *r, uint64_t id, int64_t time)
{
    id = id != 0 ? id : UINT64_MAX;
    return r->flows.count >= fd_budget(MOST_FLOWS)
                && fd_map_get(&r->flow_of, id) == 0
             ? NULL
             : fd_row(&r->flows, &r->flow_of, id, &(flow){time, false});
}

/* Add a flow of the slice that just began. */
static fd_status
put_flow(reading *r, fd_perfetto_event *event, uint64_t id, bool last)
{
    flow *f = find_flow(r, id, event->time);
    if (f == NULL) {
        return FD_OK;
    }
    if (!r->second) {
        f->first = event->time < f->first ? event->time : f->first;
        return FD_OK;
    }
    bool first = !f->begun && event->time == f->first;
    f->begun = f->begun || first;
    fd_perfetto_event_flow(event, first ? 's' : last ? 'f' : 't', id);
    return FD_OK;
}

/* Add the flows of a field, which can be packed. */
static fd_status
put_flows(reading *r, fd_perfetto_event *event, const fd_proto_field *f)
{
    bool last = f->number == FD_PB_EVENT_LAST_FLOWS
             || f->number == FD_PB_EVENT_OLD_LAST_FLOWS;
    fd_status status = FD_OK;
    if (f->wire != FD_PROTO_BYTES) {
        return put_flow(r, event, f->value, last);
    }
    bool fixed = f->number >= FD_PB_EVENT_FLOWS;
    const char *at = f->bytes;
    const char *end = f->bytes + f->size;
    while (status == FD_OK && at < end) {
        uint64_t id = 0;
        if (fixed) {
            if (end - at < 8) {
                break;
            }
            memcpy(&id, at, sizeof id);
            at += sizeof id;
        }
        else if (!fd_proto_varint(&at, end, &id)) {
            break;
        }
        status = put_flow(r, event, id, last);
    }
    return status;
}

static fd_status
take_flows(reading *r, fd_perfetto_event *event)
{
    fd_proto_field f;
    fd_status status = FD_OK;
    fd_proto_reader reader =
        fd_proto_read(event->message.bytes, event->message.size);
    while (status == FD_OK && fd_proto_next(&reader, &f)) {
        if (fd_perfetto_event_is_flow(f.number)) {
            status = put_flows(r, event, &f);
        }
    }
    return status;
}

static fd_status
take_event(reading *r, const fd_perfetto_packet *packet, fd_event_batch *batch)
{
    fd_perfetto_event *event = &r->event;
    if (!r->second) {
        event->time = packet->time;
        event->message = packet->event;
        return take_flows(r, event);
    }
    *event = (fd_perfetto_event){.tables = &r->tables,
                                 .from = packet->from,
                                 .time = packet->time,
                                 .message = packet->event,
                                 .batch = batch};
    uint64_t uuid = packet->from != NULL ? packet->from->track : 0;
    fd_status status = fd_perfetto_event_read(event, &uuid);
    if (status != FD_OK) {
        return status;
    }
    event->track = fd_perfetto_track_of(&r->tables, uuid, &status);
    if (event->track == NULL) {
        return status;
    }
    status = fd_perfetto_event_put(event);
    return status == FD_OK && event->has_flows ? take_flows(r, event) : status;
}

/* Process one packet; return false at the end. */
static bool
take_packet(reading *r, fd_event_batch *batch, fd_status *status)
{
    fd_perfetto_packet packet;
    if (!fd_packets_next(&r->packets)) {
        *status = r->packets.status;
        return false;
    }
    *status = fd_perfetto_tables_take(&r->tables, r->packets.bytes,
                                      r->packets.size, &packet);
    if (*status == FD_OK && packet.event.bytes != NULL) {
        bool timed = packet.has_time && !packet.lost;
        *status = timed ? take_event(r, &packet, batch) : FD_OK;
        r->timeless += !timed;
    }
    r->others += *status == FD_OK && packet.other;
    if (*status == FD_EFORMAT) {
        fd_packets_bad(&r->packets);
        *status = FD_OK;
    }
    return *status == FD_OK;
}

/* Add the top-level members that Chrome JSON of the same trace has. */
static void
put_origin(const char *origin, fd_event_batch *batch)
{
    unsigned number;
    unsigned world;
    if (sscanf(origin, FD_PERFETTO_MERGE, &number) == 1) {
        fd_batch_member(batch, "mergedFiles", fd_batch_number(batch, number));
    }
    else if (sscanf(origin, FD_PERFETTO_EXPORT, &number, &world) == 2) {
        fd_json_writer w = {.to = fd_batch_compose(batch)};
        fd_json_begin_object(&w, NULL);
        fd_json_put_u64(&w, "rank", number);
        fd_json_put_u64(&w, "world_size", world);
        fd_json_end_object(&w);
        fd_batch_member(batch, "distributedInfo", fd_batch_composed(batch));
        fd_batch_member(batch, "recordings", fd_batch_static("[]"));
    }
}

static void
put_members(reading *r, fd_event_batch *batch)
{
    put_origin(r->tables.origin, batch);
    if (r->others > 0) {
        fd_batch_member(batch, "otherPackets",
                        fd_batch_number(batch, r->others));
    }
    if (r->tables.has_base) {
        fd_batch_member(batch, "baseTimeNanoseconds",
                        fd_batch_format(batch, "%" PRId64, r->tables.base_ns));
    }
    r->begun = true;
}

static void
put_row(const fd_perfetto_track *track, const char *what, fd_span args,
        fd_event_batch *batch)
{
    fd_timeline_event row = {.phase = 'M',
                             .name = fd_batch_static(what),
                             .pid = fd_batch_number(batch, track->pid),
                             .args = args};
    if (track->kind == FD_PERFETTO_THREAD) {
        row.tid = fd_batch_number(batch, track->tid);
    }
    fd_batch_event(batch, &row);
}

static fd_span
text_row(const reading *r, const char *key, uint32_t text,
         fd_event_batch *batch)
{
    const fd_text_pool *texts = &r->tables.texts;
    return fd_batch_text_object(batch, key, fd_text_pool_get(texts, text),
                                fd_text_pool_size(texts, text));
}

static void
put_rows(reading *r, const fd_perfetto_track *track, fd_event_batch *batch)
{
    bool thread = track->kind == FD_PERFETTO_THREAD;
    if (!track->has_pid || (!thread && track->kind != FD_PERFETTO_PROCESS)) {
        return;
    }
    if (track->name != 0) {
        put_row(track, thread ? "\"thread_name\"" : "\"process_name\"",
                text_row(r, "name", track->name, batch), batch);
    }
    if (track->labels != 0) {
        put_row(track, "\"process_labels\"",
                text_row(r, "labels", track->labels, batch), batch);
    }
    if (track->sorted) {
        fd_json_writer w = {.to = fd_batch_compose(batch)};
        fd_json_begin_object(&w, NULL);
        fd_json_put_i64(&w, "sort_index", track->sort_index);
        fd_json_end_object(&w);
        put_row(track,
                thread ? "\"thread_sort_index\"" : "\"process_sort_index\"",
                fd_batch_composed(batch), batch);
    }
}

static fd_status
end(const reading *r, fd_timeline_maker *maker, fd_error *error)
{
    const fd_packets *p = &r->packets;
    maker->lost = p->lost;
    maker->lost_bytes = p->lost_bytes;
    if (p->lost > 0) {
        return fd_fail(error, FD_EFORMAT, "%s", p->trouble);
    }
    return r->timeless == 0
             ? FD_OK
             : fd_fail(error, FD_EFORMAT, "%llu event%s with an unknown clock",
                       (unsigned long long)r->timeless,
                       r->timeless == 1 ? "" : "s");
}

static fd_status
fill(fd_timeline_maker *maker, fd_event_batch *batch, fd_error *error)
{
    reading *r = maker->context;
    uint32_t enough = (uint32_t)fd_budget(FD_BATCH_EVENTS);
    fd_status status = FD_OK;
    if (!r->begun) {
        put_members(r, batch);
    }
    while (batch->items.count < enough && r->row < r->tables.tracks.count) {
        put_rows(r, &r->tables.tracks.list[r->row++], batch);
    }
    /* Events refer to their packet, so a batch has the events of
     * one packet. */
    while (batch->items.count == 0 && batch->status == FD_OK) {
        if (!take_packet(r, batch, &status)) {
            maker->read = r->packets.in.read;
            return status != FD_OK ? status : end(r, maker, error);
        }
    }
    maker->read = r->packets.in.read;
    return FD_OK;
}

static fd_status
read_first(reading *r, const char *path, fd_error *error)
{
    fd_status status = fd_packets_open(&r->packets, path, error);
    while (status == FD_OK && take_packet(r, NULL, &status)) {
    }
    if (status == FD_OK) {
        fd_perfetto_tables_rewind(&r->tables);
        fd_packets_close(&r->packets);
        r->timeless = 0;
        r->second = true;
        status = fd_packets_open(&r->packets, path, error);
    }
    return status;
}

fd_status
fd_perfetto_open(fd_timeline_maker *maker, fd_bytes_in *in, const char *path,
                 fd_error *error)
{
    reading *r = fd_calloc(1, sizeof *r);
    fd_bytes_in_close(in);
    if (r == NULL) {
        return FD_ENOMEM;
    }
    r->packets.in.fd = -1;
    fd_status status = read_first(r, path, error);
    if (status != FD_OK) {
        release(r);
        return status;
    }
    maker->context = r;
    maker->fill = fill;
    maker->release = release;
    return FD_OK;
}
