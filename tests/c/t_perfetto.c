#include "check.h"
#include "timelines.h"

#include "analysis/totals.h"
#include "export/exporters.h"

#include <string.h>

/* The next number of a message. */
static uint64_t
number(const uint8_t **at)
{
    uint64_t value = 0;
    int shift = 0;
    while (**at >= 0x80) {
        value |= (uint64_t)(*(*at)++ & 0x7f) << shift;
        shift += 7;
    }
    return value | (uint64_t)*(*at)++ << shift;
}

/* How often a numeric field has a value, over all messages of a kind. */
typedef struct census {
    uint32_t packets;
    uint32_t begins;
    uint32_t ends;
    uint32_t cleared;
    uint32_t tracks;
    uint32_t needed;
    uint32_t arrows;  /* ends of them */
    uint64_t elapsed; /* ns: the sum of incremental times */
} census;

static void
read_event(const uint8_t *at, const uint8_t *end, census *found)
{
    while (at < end) {
        uint64_t tag = number(&at);
        if ((tag & 7) == 1) {
            found->arrows += tag >> 3 == 47 || tag >> 3 == 48;
            at += 8;
            continue;
        }
        uint64_t value = number(&at);
        if ((tag & 7) == 2) {
            at += value;
        }
        else if (tag >> 3 == 9) {
            found->begins += value == 1;
            found->ends += value == 2;
        }
    }
}

static void
read_packet(const uint8_t *at, const uint8_t *end, census *found)
{
    uint64_t time = 0;
    bool absolute = false;
    found->packets++;
    while (at < end) {
        uint64_t tag = number(&at);
        uint64_t value = number(&at);
        if (tag >> 3 == 11) {
            read_event(at, at + value, found);
        }
        time = tag >> 3 == 8 ? value : time;
        absolute = absolute || tag >> 3 == 58;
        found->tracks += tag >> 3 == 60;
        found->cleared += tag >> 3 == 13 && value == 1;
        found->needed += tag >> 3 == 13 && value == 2;
        at += (tag & 7) == 2 ? value : 0;
    }
    found->elapsed += absolute ? 0 : time;
}

static fd_status
take_aligned(const fd_trace *trace, int rank, const fd_export_clock *clocks,
             census *found, fd_error *error)
{
    fd_buffer to = {.bytes = NULL};
    fd_export_options options = {.rank = rank, .clocks = clocks};
    fd_status status = fd_exporter_find("perfetto")->write(trace, &options,
                                                           &to, error);
    const uint8_t *at = (const uint8_t *)to.bytes;
    const uint8_t *end = at + (status == FD_OK ? to.size : 0);
    *found = (census){.packets = 0};
    while (status == FD_OK && at < end) {
        number(&at);
        uint64_t size = number(&at);
        read_packet(at, at + size, found);
        at += size;
    }
    fd_buffer_clear(&to);
    return status;
}

static fd_status
take_census(const fd_trace *trace, int rank, census *found, fd_error *error)
{
    return take_aligned(trace, rank, NULL, found, error);
}

static void
packets_of_all_ranks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    census found;
    OK(fixture_timeline(&trace, true));
    OK(take_census(trace, FD_ALL_RANKS, &found, NULL));
    EQUAL(found.cleared, 4); /* a rank and its thread, twice */
    EQUAL(found.begins, 2 * (7 + 2)); /* two phases of a step */
    EQUAL(found.ends, 2 * (7 + 2));
    EQUAL(found.needed, 2 * 4); /* slices with interned names */
    /* Steps, phases, the thread, overlapping work on two lanes. */
    EQUAL(found.tracks, 2 * (1 + 1 + 1 + 1 + 2));
    OK(take_census(trace, 0, &found, NULL));
    EQUAL(found.begins, 9);
}

/* A clock that loses a third: of a thread up to 100 ns and a stream to 50. */
static void
streams_are_aligned(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    const fd_export_clock clocks[]
        = {{.method = "reference"},
           {.method = "pingpong",
            .map = {.offset_ns = 5000, .drift_ppt = 500000000000}}};
    census found;
    OK(fixture_timeline(&trace, true));
    OK(fd_vector_push(&trace->ranks.list[1].gpu_events,
                      ((fd_trace_gpu_event){
                          .host = 25,
                          .start = 40,
                          .duration = 10,
                          .context = fixture_find(trace, "aten::mm")})));
    OK(take_census(trace, 1, &found, NULL));
    EQUAL(found.elapsed, 100 + 50);
    EQUAL(found.arrows, 2);
    OK(take_aligned(trace, 1, clocks, &found, NULL));
    EQUAL(found.elapsed, 150 + 75);
    EQUAL(found.arrows, 2);
}

static void
no_timeline(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fd_error error = {""};
    census found;
    OK(fixture_trace(&trace, 0, NULL));
    STATUS(take_census(trace, FD_ALL_RANKS, &found, &error), FD_EINVAL);
    CHECK(strstr(error.text, "no timeline") != NULL);
}

RUN(ABSORBS(packets_of_all_ranks), ABSORBS(streams_are_aligned),
    ABSORBS(no_timeline))
