#include "events/writers/perfetto_packets.h"

#include "base/budget.h"
#include "base/sums.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"

enum { TEXTS_PER_PACKET = 1 << 15 };

/* Make a packet of the content of a field from offset `from` on. */
static void
wrap_packet(fd_native_packets *p, uint32_t field, size_t from)
{
    fd_proto_wrap(p->to, field, from);
    fd_proto_number(p->to, FD_PB_PACKET_SEQUENCE, p->sequence);
    fd_proto_wrap(p->to, FD_PB_TRACE_PACKET, from);
}

void
fd_native_begin(fd_native_packets *p)
{
    size_t packet = p->to->size;
    fd_proto_number(p->to, FD_PB_PACKET_FIRST, 1);
    fd_proto_number(p->to, FD_PB_PACKET_FLAGS, FD_PB_STATE_CLEARED);
    size_t defaults = p->to->size;
    fd_proto_number(p->to, FD_PB_DEFAULTS_CLOCK, FD_PB_INCREMENTAL);
    if (p->track != 0) {
        size_t event = p->to->size;
        fd_proto_number(p->to, FD_PB_EVENT_TRACK, p->track);
        fd_proto_wrap(p->to, FD_PB_DEFAULTS_TRACK_EVENT, event);
    }
    fd_proto_wrap(p->to, FD_PB_PACKET_DEFAULTS, defaults);
    fd_proto_number(p->to, FD_PB_PACKET_SEQUENCE, p->sequence);
    fd_proto_wrap(p->to, FD_PB_TRACE_PACKET, packet);
}

static void
put_clock(fd_buffer *to, uint32_t clock, int64_t time)
{
    size_t from = to->size;
    fd_proto_number(to, FD_PB_CLOCK_ID, clock);
    fd_proto_number(to, FD_PB_CLOCK_TIMESTAMP, (uint64_t)time);
    if (clock == FD_PB_INCREMENTAL) {
        fd_proto_number(to, FD_PB_CLOCK_INCREMENTAL, 1);
    }
    fd_proto_wrap(to, FD_PB_CLOCKS, from);
}

/* Write a snapshot. Its set of clocks is always the same, since readers relate
 * only snapshots of the same clocks. */
static void
put_snapshot(fd_native_packets *p, int64_t time)
{
    size_t from = p->to->size;
    int64_t boot = fd_plus(time, p->steps.offset_ns);
    put_clock(p->to, FD_PB_INCREMENTAL, fd_minus(time, p->zero));
    put_clock(p->to, FD_PB_BOOTTIME, boot);
    if (p->clock->has_base) {
        put_clock(p->to, FD_PB_REALTIME, fd_plus(p->clock->base_ns, boot));
    }
    wrap_packet(p, FD_PB_PACKET_CLOCK_SNAPSHOT, from);
    p->last = time;
}

void
fd_native_begin_clock(fd_native_packets *p, const fd_perfetto_clock *clock,
                      int64_t first)
{
    p->clock = clock;
    p->zero = first < 0 ? first : 0;
    p->steps = fd_clock_steps_begin(&clock->map, clock->step_ns, first);
    put_snapshot(p, first);
}

/* Advance the clock and return the timestamp of the next packet. */
static uint64_t
advance_clock(fd_native_packets *p, int64_t time)
{
    time = time > p->last ? time : p->last;
    if (time >= p->steps.next_change) {
        p->steps.last = p->last;
        if (fd_clock_steps_change(&p->steps, time)) {
            put_snapshot(p, time);
        }
    }
    uint64_t passed = (uint64_t)time - (uint64_t)p->last;
    p->last = time;
    return passed;
}

void
fd_native_put_track(fd_native_packets *p, uint32_t track, uint32_t kind,
                    const fd_native_field *fields, size_t count)
{
    size_t from = p->to->size;
    fd_proto_number(p->to, FD_PB_TRACK_UUID, track);
    size_t part = p->to->size;
    for (const fd_native_field *f = fields; f < fields + count; f++) {
        if (f->field != 0 && f->text.from != NULL) {
            fd_proto_bytes(p->to, f->field, f->text.from,
                           fd_span_size(f->text));
        }
        else if (f->field != 0) {
            fd_proto_number(p->to, f->field, f->number);
        }
    }
    if (kind != 0) {
        fd_proto_wrap(p->to, kind, part);
    }
    wrap_packet(p, FD_PB_PACKET_TRACK, from);
}

void
fd_native_put_texts(fd_native_packets *p, uint32_t field,
                    const fd_text_pool *pool)
{
    size_t from = p->to->size;
    for (uint32_t i = 1; i < pool->texts.count; i++) {
        size_t text = p->to->size;
        fd_proto_number(p->to, FD_PB_INTERNED_IID, i);
        fd_proto_bytes(p->to, FD_PB_INTERNED_TEXT, fd_text_pool_get(pool, i),
                       fd_text_pool_size(pool, i));
        fd_proto_wrap(p->to, field, text);
        if (p->to->size - from > fd_budget(TEXTS_PER_PACKET)
            || i + 1 == pool->texts.count) {
            wrap_packet(p, FD_PB_PACKET_INTERNED, from);
            from = p->to->size;
        }
    }
}

/* Maximum size of a packet with an event, without the body of the event. */
enum { PACKET = 64, KIND = 16, TAG_AND_LENGTH = 2 };

/* Write the fields of a packet before its event, and the tag of the event. */
static uint8_t *
put_head(const fd_native_packets *p, uint8_t *at, uint64_t passed, bool needed,
         size_t event)
{
    at = fd_proto_put_field(at, FD_PB_PACKET_TIMESTAMP, passed);
    at = fd_proto_put_field(at, FD_PB_PACKET_SEQUENCE, p->sequence);
    if (needed) {
        at = fd_proto_put_field(at, FD_PB_PACKET_FLAGS, FD_PB_STATE_NEEDED);
    }
    at = fd_proto_put(at, FD_PB_PACKET_TRACK_EVENT << 3 | FD_PROTO_BYTES);
    return fd_proto_put(at, event);
}

/* Write tag and length of a packet before its content, where space for a short
 * length was reserved. */
static void
end_packet(fd_native_packets *p, uint8_t *from, size_t size)
{
    uint8_t number[10];
    size_t length = (size_t)(fd_proto_put(number, size) - number);
    if (length > 1) {
        memmove(from + 1 + length, from + TAG_AND_LENGTH, size);
    }
    from[0] = FD_PB_TRACE_PACKET << 3 | FD_PROTO_BYTES;
    for (size_t i = 0; i < length; i++) {
        from[1 + i] = number[i];
    }
    p->to->size += 1 + length + size;
}

/* Written directly into the buffer, because traces have millions of events. */
void
fd_native_put_event(fd_native_packets *p, uint32_t type, uint32_t track,
                    int64_t time, fd_span body)
{
    uint8_t kind[KIND];
    uint8_t *end = kind;
    size_t size = fd_span_size(body);
    uint64_t passed = advance_clock(p, time);
    if (type != 0) {
        end = fd_proto_put_field(end, FD_PB_EVENT_TYPE, type);
    }
    if (track != p->track) {
        end = fd_proto_put_field(end, FD_PB_EVENT_TRACK, track);
    }
    size_t kinds = (size_t)(end - kind);
    uint8_t *from = (uint8_t *)fd_buffer_grow(p->to, PACKET + size);
    if (from == NULL) {
        return;
    }
    uint8_t *at = put_head(p, from + TAG_AND_LENGTH, passed,
                           type != FD_PB_TYPE_END || size > 0, kinds + size);
    memcpy(at, kind, sizeof kind); /* constant size: faster */
    at += kinds;
    if (size > 0) {
        memcpy(at, body.from, size);
    }
    end_packet(p, from, (size_t)(at + size - from) - TAG_AND_LENGTH);
}
