#include "check.h"

#include "events/writers/perfetto_fields.h"
#include "events/writers/perfetto_rows.h"
#include "streams/protobuf.h"

#include <stdio.h>
#include <string.h>

/* "B1@10 E1@20": what, on which track, when. */
static void
spell_packet(const char *bytes, size_t size, int64_t *time, char *text,
             size_t capacity)
{
    fd_proto_field f;
    fd_proto_field g;
    fd_proto_reader r = fd_proto_read(bytes, size);
    uint64_t type = 9;
    uint64_t track = 0;
    bool event = false;
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_PB_PACKET_TIMESTAMP) {
            *time += (int64_t)f.value;
        }
        fd_proto_reader inner = fd_proto_read(f.bytes, f.size);
        event = event || f.number == FD_PB_PACKET_TRACK_EVENT;
        while (f.number == FD_PB_PACKET_TRACK_EVENT
               && fd_proto_next(&inner, &g)) {
            type = g.number == FD_PB_EVENT_TYPE ? g.value : type;
            track = g.number == FD_PB_EVENT_TRACK ? g.value : track;
        }
    }
    size_t used = strlen(text);
    if (event) {
        snprintf(text + used, capacity - used, "%s%c%u@%d",
                 used > 0 ? " " : "", type == 9 ? 'L' : "?BEIC"[type],
                 (unsigned)track, (int)*time);
    }
}

static const char *
spell(const fd_buffer *to, char *text, size_t capacity)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(to->bytes, to->size);
    int64_t time = 0;
    text[0] = '\0';
    while (fd_proto_next(&r, &f)) {
        spell_packet(f.bytes, f.size, &time, text, capacity);
    }
    return text;
}

static fd_status
slice(fd_perfetto_lanes *l, int64_t begin, int64_t end)
{
    return fd_perfetto_slice(l, 0, begin, end, "", 0);
}

#define LANES_OF_THREAD_7(l, to) \
    uint32_t spare = 50; \
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
    CLEAN(fd_native_packets_clear) fd_native_packets packets = {.to = &to}; \
    CLEAN(fd_perfetto_lanes_clear) \
    fd_perfetto_lanes l = {.packets = &packets, .spare_track = &spare}; \
    OK(fd_perfetto_lanes_thread(&l, 7))

TEST(slices_lie_within_each_other)
{
    char text[512];
    LANES_OF_THREAD_7(l, to);
    OK(slice(&l, 0, 10));
    OK(slice(&l, 2, 5));
    OK(slice(&l, 5, 10));
    OK(slice(&l, 8, 12)); /* overlaps */
    OK(slice(&l, 9, 15)); /* both */
    OK(slice(&l, 10, 10));
    OK(fd_perfetto_mark(&l, 7, FD_PB_TYPE_INSTANT, 10, "", 0));
    OK(fd_perfetto_finish(&l));
    SAME(spell(&to, text, sizeof text),
         "B7@0 B7@2 E7@5 B7@5 B50@8 B51@9 E7@10 E7@10 B7@10 I7@10 E7@10 "
         "E50@12 E51@15");
    EQUAL(l.aside, 2);
    EQUAL(l.crossed + l.alone, 0);
}

TEST(begins_and_ends)
{
    char text[512];
    LANES_OF_THREAD_7(l, to);
    OK(fd_perfetto_end(&l, 0, 0, "", 0)); /* of nothing */
    OK(fd_perfetto_begin(&l, 0, 1, "", 0));
    OK(slice(&l, 2, 9)); /* longer than what it is in */
    OK(fd_perfetto_end(&l, 0, 5, "", 0));
    OK(slice(&l, 10, 20));
    OK(fd_perfetto_begin(&l, 0, 15, "", 0)); /* the same */
    OK(fd_perfetto_end(&l, 0, 25, "", 0));
    OK(fd_perfetto_begin(&l, 0, 30, "", 0)); /* has no end */
    OK(fd_perfetto_finish(&l));
    SAME(spell(&to, text, sizeof text),
         "B7@1 B7@2 E7@5 E7@5 B7@10 B7@15 E7@20 E7@20 B7@30");
    FIELDS(&l, (alone, 1), (crossed, 2));
}
