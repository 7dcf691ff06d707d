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

enum { SLICE, BEGIN, END };

/* Add an event of the first thread. */
static void
put(fd_perfetto_lanes *l, int what, int64_t time, int64_t end)
{
    fd_span body = fd_span_text("");
    fd_perfetto_lanes_until(l, time);
    switch (what) {
    case SLICE:
        fd_perfetto_slice(l, 0, time, end, body);
        break;
    case BEGIN:
        fd_perfetto_begin(l, 0, time, body);
        break;
    default:
        fd_perfetto_end(l, 0, time, body);
    }
}

#define LANES_OF_THREAD_7(l, to) \
    uint32_t spare = 50; \
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL}; \
    fd_native_packets packets = {.to = &to}; \
    fd_perfetto_counts counts = {0}; \
    fd_perfetto_lanes l = {.arena = &arena, \
                           .packets = &packets, \
                           .spare_track = &spare, \
                           .counts = &counts}; \
    ENTER(&arena); \
    fd_perfetto_lanes_thread(&l, 7)

TEST(slices_lie_within_each_other)
{
    char text[512];
    LANES_OF_THREAD_7(l, to);
    put(&l, SLICE, 0, 10);
    put(&l, SLICE, 2, 5);
    put(&l, SLICE, 5, 10);
    put(&l, SLICE, 8, 12); /* overlaps */
    put(&l, SLICE, 9, 15); /* both */
    put(&l, SLICE, 10, 10);
    fd_native_put_event(&packets, FD_PB_TYPE_INSTANT, 7, 10, fd_span_text(""));
    fd_perfetto_lanes_until(&l, INT64_MAX);
    OK(to.status);
    SAME(spell(&to, text, sizeof text),
         "B7@0 B7@2 E7@5 B7@5 B50@8 B51@9 E7@10 E7@10 B7@10 I7@10 E7@10 "
         "E50@12 E51@15");
    EQUAL(counts.aside, 2);
    EQUAL(counts.crossed + counts.alone, 0);
}

TEST(begins_and_ends)
{
    char text[512];
    LANES_OF_THREAD_7(l, to);
    put(&l, END, 0, 0); /* of nothing */
    put(&l, BEGIN, 1, 0);
    put(&l, SLICE, 2, 9); /* longer than what it is in */
    put(&l, END, 5, 0);
    put(&l, SLICE, 10, 20);
    put(&l, BEGIN, 15, 0); /* the same */
    put(&l, END, 25, 0);
    put(&l, BEGIN, 30, 0); /* has no end */
    fd_perfetto_lanes_until(&l, INT64_MAX);
    OK(to.status);
    SAME(spell(&to, text, sizeof text),
         "B7@1 B7@2 E7@5 E7@5 B7@10 B7@15 E7@20 E7@20 B7@30");
    FIELDS(&counts, (alone, 1), (crossed, 2));
}
