#include "check.h"
#include "natives.h"
#include "timelines.h"

#include "events/recorded/timeline_exports.h"
#include "events/writers/perfetto_fields.h"
#include "profile/totals.h"
#include "streams/protobuf.h"

#include <string.h>

static fd_status
export_lines(const fd_trace *trace, const fd_export_options *options,
             fd_buffer *lines)
{
    fd_buffer to = {.bytes = NULL};
    fd_status status = fd_export_perfetto(trace, options, &to, NULL);
    if (status == FD_OK) {
        status = fixture_write("export.pftrace", to.bytes, to.size);
    }
    fd_buffer_clear(&to);
    return status == FD_OK ? native_text("export.pftrace", lines) : status;
}

static int
count_of(const fd_buffer *lines, const char *part)
{
    int count = 0;
    for (const char *at = lines->bytes; (at = strstr(at, part)) != NULL;
         at++) {
        count++;
    }
    return count;
}

ABSORBS(tracks_of_all_ranks)
{
    TIMELINE_TRACE(trace, true);
    CLEAN(fd_buffer_clear) fd_buffer lines = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer one = {.bytes = NULL};
    OK(export_lines(trace, &(fd_export_options){.rank = FD_ALL_RANKS},
                    &lines));
    /* A thread, its steps and their phases, twice. */
    EQUAL(count_of(&lines, "process "), 2);
    EQUAL(count_of(&lines, "thread "), 2);
    EQUAL(count_of(&lines, "\ntrack "), 2 * 2);
    EQUAL(count_of(&lines, "\nB "), 2 * 7);
    EQUAL(count_of(&lines, "\nE "), 2 * 7);
    /* Work that overlaps it. */
    EQUAL(count_of(&lines, "\nb "), 2 * 2);
    EQUAL(count_of(&lines, "\ne "), 2 * 2);
    OK(export_lines(trace, &(fd_export_options){.rank = 0}, &one));
    EQUAL(count_of(&one, "\nB "), 7);
}

/* What a sequence's clock shows, and what that is in boot time. */
typedef struct moment {
    uint64_t sequence;
    int64_t own;
    int64_t boot;
} moment;

typedef struct moments {
    FD_VECTOR(moment) sequences; /* now */
    FD_VECTOR(moment) events;
    uint32_t snapshots;
} moments;

static void
moments_clear(moments *m)
{
    fd_vector_clear(&m->sequences);
    fd_vector_clear(&m->events);
}

static void
take_snapshot(const fd_proto_field *message, moment *now)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        int64_t time = (int64_t)native_number(&f, FD_PB_CLOCK_TIMESTAMP);
        switch (native_number(&f, FD_PB_CLOCK_ID)) {
        case FD_PB_INCREMENTAL:
            now->own = time;
            break;
        case FD_PB_BOOTTIME:
            now->boot = time;
            break;
        default:
            break;
        }
    }
}

static fd_status
take_moment(moments *m, const fd_proto_field *packet)
{
    uint64_t sequence = native_number(packet, FD_PB_PACKET_SEQUENCE);
    int64_t passed = (int64_t)native_number(packet, FD_PB_PACKET_TIMESTAMP);
    fd_status status = FD_OK;
    uint32_t i = 0;
    while (i < m->sequences.count
           && m->sequences.list[i].sequence != sequence) {
        i++;
    }
    if (i == m->sequences.count && sequence > 0) {
        status = fd_vector_push(&m->sequences, (moment){.sequence = sequence});
    }
    if (status != FD_OK || sequence == 0) {
        return status; /* 0: of the whole trace */
    }
    moment *now = &m->sequences.list[i];
    now->own += passed;
    now->boot += passed;
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(packet->bytes, packet->size);
    while (fd_proto_next(&r, &f) && status == FD_OK) {
        if (f.number == FD_PB_PACKET_CLOCK_SNAPSHOT) {
            take_snapshot(&f, now);
            m->snapshots++;
        }
        else if (f.number == FD_PB_PACKET_TRACK_EVENT) {
            status = fd_vector_push(&m->events, *now);
        }
    }
    return status;
}

static fd_status
take_moments(const fd_trace *trace, const fd_rank_clock *clocks, moments *m)
{
    fd_buffer to = {.bytes = NULL};
    fd_export_options options = {.rank = 1, .clocks = clocks};
    fd_proto_field packet;
    *m = (moments){.snapshots = 0};
    fd_status status = fd_export_perfetto(trace, &options, &to, NULL);
    fd_proto_reader r = fd_proto_read(to.bytes, to.size);
    while (status == FD_OK && fd_proto_next(&r, &packet)) {
        status = take_moment(m, &packet);
    }
    fd_buffer_clear(&to);
    return status;
}

/* A clock that loses or gains a half: snapshots state it, and no event but by
 * what it shows. */
ABSORBS(drift_is_in_snapshots)
{
    static const int64_t drifts[] = {500000000000, -500000000000};
    TIMELINE_TRACE(trace, true);
    OK(fd_vector_push(
        &trace->ranks.list[1].gpu_events,
        ((fd_trace_gpu_event){.host = 25,
                              .start = 40,
                              .duration = 10,
                              .context = fixture_find(trace, "aten::mm"),
                              .launcher = fixture_find(trace, "aten::mm")})));
    CLEAN(moments_clear) moments plain = {.snapshots = 0};
    OK(take_moments(trace, NULL, &plain));
    EQUAL(plain.snapshots, plain.sequences.count);
    for (int i = 0; i < 2; i++) {
        const fd_rank_clock clocks[] = {
            {.method = "reference"},
            {.method = "pingpong",
             .uncertainty_ns = 10,
             .map = {.offset_ns = 5000, .drift_ppt = drifts[i]}}};
        CLEAN(moments_clear) moments drifting = {.snapshots = 0};
        OK(take_moments(trace, clocks, &drifting));
        CHECK(drifting.snapshots > drifting.sequences.count);
        EQUAL(drifting.events.count, plain.events.count);
        for (uint32_t k = 0; k < plain.events.count; k++) {
            const moment *at = &drifting.events.list[k];
            int64_t exact = 5000 + fd_clock_apply(&clocks[1].map, at->own);
            EQUAL(at->own, plain.events.list[k].own);
            EQUAL(plain.events.list[k].boot, 6000 + at->own);
            CHECK(at->boot >= exact - 10 && at->boot <= exact + 10);
        }
    }
}

ABSORBS(no_timeline)
{
    TRAINED_TRACE(trace, 0, NULL);
    fd_error error = {""};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const fd_export_options options = {.rank = FD_ALL_RANKS};
    STATUS(fd_export_perfetto(trace, &options, &to, &error), FD_EINVAL);
    HAS(error.text, "no timeline");
}
