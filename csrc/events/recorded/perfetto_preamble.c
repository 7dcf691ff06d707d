#include "events/recorded/perfetto_preamble.h"

#include "base/sums.h"
#include "events/recorded/perfetto_fields.h"
#include "streams/protobuf.h"

static void
put_message(uint8_t **at, uint32_t field, const uint8_t *bytes,
            const uint8_t *end)
{
    size_t size = (size_t)(end - bytes);
    *at = fd_proto_put(fd_proto_put(*at, field << 3 | FD_PROTO_BYTES), size);
    memcpy(*at, bytes, size);
    *at += size;
}

void
fd_perfetto_origin(fd_buffer *to, const char *text)
{
    fd_buffer info = {.bytes = NULL};
    fd_buffer packet = {.bytes = NULL};
    fd_proto_text(&info, FD_PB_SYSTEM_SERVICE, text);
    fd_proto_message(&packet, FD_PB_PACKET_SYSTEM, &info);
    fd_proto_message(to, FD_PB_TRACE_PACKET, &packet);
    fd_buffer_clear(&info);
    fd_buffer_clear(&packet);
}

void
fd_perfetto_sequence(fd_buffer *to, uint32_t sequence, uint64_t track)
{
    uint8_t event[24];
    uint8_t defaults[48];
    uint8_t packet[96];
    uint8_t whole[112];
    uint8_t *inner =
        fd_proto_put_field(defaults, FD_PB_DEFAULTS_CLOCK, FD_PB_INCREMENTAL);
    if (track != 0) {
        put_message(&inner, FD_PB_DEFAULTS_TRACK_EVENT, event,
                    fd_proto_put_field(event, FD_PB_EVENT_TRACK, track));
    }
    uint8_t *outer = fd_proto_put_field(packet, FD_PB_PACKET_FIRST, 1);
    outer = fd_proto_put_field(outer, FD_PB_PACKET_FLAGS, FD_PB_STATE_CLEARED);
    put_message(&outer, FD_PB_PACKET_DEFAULTS, defaults, inner);
    outer = fd_proto_put_field(outer, FD_PB_PACKET_SEQUENCE, sequence);
    uint8_t *all = whole;
    put_message(&all, FD_PB_TRACE_PACKET, packet, outer);
    fd_buffer_bytes(to, whole, (size_t)(all - whole));
}

void
fd_perfetto_snapshot(fd_buffer *to, uint32_t sequence,
                     const fd_perfetto_reading *readings, int count)
{
    uint8_t clock[48];
    uint8_t clocks[FD_PERFETTO_READINGS * 64];
    uint8_t packet[FD_PERFETTO_READINGS * 64 + 32];
    uint8_t whole[FD_PERFETTO_READINGS * 64 + 48];
    uint8_t *inner = clocks;
    uint8_t *outer = packet;
    uint8_t *all = whole;
    for (int i = 0; i < count; i++) {
        uint8_t *end =
            fd_proto_put_field(clock, FD_PB_CLOCK_ID, readings[i].clock);
        end = fd_proto_put_field(end, FD_PB_CLOCK_TIMESTAMP,
                                 (uint64_t)readings[i].time);
        if (readings[i].clock == FD_PB_INCREMENTAL) {
            end = fd_proto_put_field(end, FD_PB_CLOCK_INCREMENTAL, 1);
        }
        put_message(&inner, FD_PB_CLOCKS, clock, end);
    }
    put_message(&outer, FD_PB_PACKET_CLOCK_SNAPSHOT, clocks, inner);
    outer = fd_proto_put_field(outer, FD_PB_PACKET_SEQUENCE, sequence);
    put_message(&all, FD_PB_TRACE_PACKET, packet, outer);
    fd_buffer_bytes(to, whole, (size_t)(all - whole));
}

static void
put_snapshot(fd_perfetto_ticks *t, int64_t time, fd_buffer *to)
{
    int64_t boot = fd_plus(time, t->steps.offset_ns);
    const fd_perfetto_reading readings[] = {
        {FD_PB_INCREMENTAL, fd_minus(time, t->zero)},
        {FD_PB_BOOTTIME, boot},
        {FD_PB_REALTIME, fd_plus(t->clock->base_ns, boot)}};
    fd_perfetto_snapshot(to, t->sequence, readings,
                         t->clock->has_base ? 3 : 2);
    t->last = time;
}

void
fd_perfetto_ticks_begin(fd_perfetto_ticks *ticks,
                        const fd_perfetto_clock *clock, uint32_t sequence,
                        int64_t first, fd_buffer *to)
{
    *ticks = (fd_perfetto_ticks){
        .clock = clock,
        .sequence = sequence,
        .zero = first < 0 ? first : 0,
        .steps = fd_clock_steps_begin(&clock->map, clock->step_ns, first)};
    put_snapshot(ticks, first, to);
}

void
fd_perfetto_ticks_step(fd_perfetto_ticks *ticks, int64_t time, fd_buffer *to)
{
    ticks->steps.last = ticks->last;
    if (fd_clock_steps_change(&ticks->steps, time)) {
        put_snapshot(ticks, time, to);
    }
}
