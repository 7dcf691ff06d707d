#include "events/writers/perfetto_packets.h"

#include "base/sums.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"

void
fd_native_packets_clear(fd_native_packets *p)
{
    fd_buffer_clear(&p->packet);
    fd_buffer_clear(&p->message);
    fd_buffer_clear(&p->inner);
    fd_buffer_clear(&p->texts);
}

static void
put_packet(fd_native_packets *p, uint32_t field, fd_buffer *message)
{
    fd_proto_message(&p->packet, field, message);
    fd_proto_number(&p->packet, FD_PB_PACKET_SEQUENCE, p->ticks.sequence);
    fd_proto_message(p->to, FD_PB_TRACE_PACKET, &p->packet);
}

void
fd_native_begin(fd_native_packets *p, uint32_t sequence, uint32_t track)
{
    p->track = track;
    p->ticks.sequence = sequence;
    fd_proto_number(&p->message, FD_PB_DEFAULTS_CLOCK, FD_PB_INCREMENTAL);
    if (track != 0) {
        fd_proto_number(&p->inner, FD_PB_EVENT_TRACK, track);
        fd_proto_message(&p->message, FD_PB_DEFAULTS_TRACK_EVENT, &p->inner);
    }
    fd_proto_number(&p->packet, FD_PB_PACKET_FIRST, 1);
    fd_proto_number(&p->packet, FD_PB_PACKET_FLAGS, FD_PB_STATE_CLEARED);
    put_packet(p, FD_PB_PACKET_DEFAULTS, &p->message);
}

static void
put_clock(fd_native_packets *p, uint32_t clock, int64_t time)
{
    fd_proto_number(&p->inner, FD_PB_CLOCK_ID, clock);
    fd_proto_number(&p->inner, FD_PB_CLOCK_TIMESTAMP, (uint64_t)time);
    if (clock == FD_PB_INCREMENTAL) {
        fd_proto_number(&p->inner, FD_PB_CLOCK_INCREMENTAL, 1);
    }
    fd_proto_message(&p->message, FD_PB_CLOCKS, &p->inner);
}

/* Write a snapshot. Its set of clocks is always the same, since readers relate
 * only snapshots of the same clocks. */
static void
put_snapshot(fd_native_packets *p, int64_t time)
{
    fd_perfetto_ticks *ticks = &p->ticks;
    int64_t boot = fd_plus(time, ticks->steps.offset_ns);
    put_clock(p, FD_PB_INCREMENTAL, fd_minus(time, ticks->zero));
    put_clock(p, FD_PB_BOOTTIME, boot);
    if (ticks->clock->has_base) {
        put_clock(p, FD_PB_REALTIME, fd_plus(ticks->clock->base_ns, boot));
    }
    put_packet(p, FD_PB_PACKET_CLOCK_SNAPSHOT, &p->message);
    ticks->last = time;
}

void
fd_native_begin_clock(fd_native_packets *p, const fd_perfetto_clock *clock,
                      int64_t first)
{
    p->ticks = (fd_perfetto_ticks){
        .sequence = p->ticks.sequence,
        .clock = clock,
        .zero = first < 0 ? first : 0,
        .steps = fd_clock_steps_begin(&clock->map, clock->step_ns, first)};
    put_snapshot(p, first);
}

/* Advance the clock and return the timestamp of the next packet. */
static uint64_t
advance_clock(fd_native_packets *p, int64_t time)
{
    fd_perfetto_ticks *ticks = &p->ticks;
    time = time > ticks->last ? time : ticks->last;
    if (time >= ticks->steps.next_change) {
        ticks->steps.last = ticks->last;
        if (fd_clock_steps_change(&ticks->steps, time)) {
            put_snapshot(p, time);
        }
    }
    uint64_t passed = (uint64_t)time - (uint64_t)ticks->last;
    ticks->last = time;
    return passed;
}

static void
put_span(fd_buffer *to, uint32_t field, fd_span text)
{
    fd_proto_bytes(to, field, text.from, fd_span_size(text));
}

void
fd_native_put_process(fd_native_packets *p, const fd_native_process *process)
{
    fd_proto_number(&p->inner, FD_PB_PROCESS_PID, process->pid);
    fd_proto_number(&p->inner, FD_PB_PROCESS_SORT, process->sort_index);
    put_span(&p->inner, FD_PB_PROCESS_NAME, process->name);
    for (int i = 0; i < 2; i++) {
        if (fd_span_size(process->labels[i]) > 0) {
            put_span(&p->inner, FD_PB_PROCESS_LABEL, process->labels[i]);
        }
    }
    fd_proto_number(&p->message, FD_PB_TRACK_UUID, process->track);
    fd_proto_message(&p->message, FD_PB_TRACK_PROCESS, &p->inner);
    put_packet(p, FD_PB_PACKET_TRACK, &p->message);
}

void
fd_native_put_thread(fd_native_packets *p, const fd_native_thread *thread)
{
    fd_proto_number(&p->inner, FD_PB_THREAD_PID, thread->pid);
    fd_proto_number(&p->inner, FD_PB_THREAD_TID, thread->tid);
    if (thread->sorted) {
        fd_proto_number(&p->inner, FD_PB_THREAD_SORT,
                        (uint64_t)thread->sort_index);
    }
    put_span(&p->inner, FD_PB_THREAD_NAME, thread->name);
    fd_proto_number(&p->message, FD_PB_TRACK_UUID, thread->track);
    fd_proto_message(&p->message, FD_PB_TRACK_THREAD, &p->inner);
    put_packet(p, FD_PB_PACKET_TRACK, &p->message);
}

void
fd_native_put_track(fd_native_packets *p, uint32_t track, uint32_t parent,
                    const char *name, bool counts)
{
    fd_proto_number(&p->message, FD_PB_TRACK_UUID, track);
    if (name != NULL) {
        fd_proto_text(&p->message, FD_PB_TRACK_NAME, name);
    }
    if (parent != 0) {
        fd_proto_number(&p->message, FD_PB_TRACK_PARENT, parent);
    }
    if (counts) {
        fd_proto_message(&p->message, FD_PB_TRACK_COUNTER, &p->inner);
    }
    put_packet(p, FD_PB_PACKET_TRACK, &p->message);
}

void
fd_native_intern(fd_native_packets *p, uint32_t field, uint32_t id,
                 fd_span text)
{
    fd_proto_number(&p->inner, FD_PB_INTERNED_IID, id);
    put_span(&p->inner, FD_PB_INTERNED_TEXT, text);
    fd_proto_message(&p->texts, field, &p->inner);
}

void
fd_native_send_texts(fd_native_packets *p)
{
    put_packet(p, FD_PB_PACKET_INTERNED, &p->texts);
}

/* Maximum size of a packet with an event, without the body of the event. */
enum { PACKET = 64, KIND = 16, TAG_AND_LENGTH = 2 };

/* Write the fields of a packet before its event, and the tag of the event. */
static uint8_t *
put_head(const fd_native_packets *p, uint8_t *at, uint64_t passed, bool needed,
         size_t event)
{
    at = fd_proto_put_field(at, FD_PB_PACKET_TIMESTAMP, passed);
    at = fd_proto_put_field(at, FD_PB_PACKET_SEQUENCE, p->ticks.sequence);
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
                    int64_t time, const void *body, size_t size)
{
    uint8_t kind[KIND];
    uint8_t *end = kind;
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
        memcpy(at, body, size);
    }
    end_packet(p, from, (size_t)(at + size - from) - TAG_AND_LENGTH);
}
