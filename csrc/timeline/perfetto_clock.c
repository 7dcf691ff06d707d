#include "timeline/perfetto_clock.h"

#include "export/perfetto_fields.h"
#include "export/proto.h"

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
        uint8_t *end = fd_proto_put_field(clock, FD_PB_CLOCK_ID,
                                          readings[i].clock);
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
