#include "check.h"
#include "fixtures.h"
#include "timelines.h"

#include "events/recorded/recording_inputs.h"

#include <string.h>

static void
one_host(void)
{
    TIMELINE_TRACE(trace, true);
    fd_export_clock clocks[2];
    int64_t base;
    OK(fd_timeline_align_trace(trace, FD_ALIGN_AUTO, true, clocks, &base,
                               NULL));
    EQUAL(base, 900000);
    SAME(clocks[0].method, "reference");
    SAME(clocks[1].method, "host");
    EQUAL(clocks[1].map.offset_ns, 1000);
    EQUAL(clocks[1].uncertainty_ns, 0);
}

static void
two_hosts(void)
{
    TIMELINE_TRACE(trace, false);
    fd_export_clock clocks[2];
    fd_error error;
    int64_t base;
    OK(fd_timeline_align_trace(trace, FD_ALIGN_AUTO, false, clocks, &base,
                               NULL));
    SAME(clocks[1].method, "wall");
    EQUAL(clocks[1].map.offset_ns, 2000);
    EQUAL(clocks[1].uncertainty_ns, FD_CLOCK_UNKNOWN);
    STATUS(fd_timeline_align_trace(trace, FD_ALIGN_AUTO, true, clocks, &base,
                                   &error),
           FD_EINVAL);
    SAME(error.text, "unknown clock error of rank 0, 1: "
                     "omit --require-aligned-clocks or record with pings "
                     "(docs/concepts/clocks.md)");
    OK(fd_timeline_align_trace(trace, FD_ALIGN_NONE, false, clocks, &base,
                               NULL));
    SAME(clocks[1].method, "none");
    EQUAL(clocks[1].map.offset_ns, 0);
}

static const char boots[2][33] = {"000102030405060708090a0b0c0d0e0f",
                                  "100102030405060708090a0b0c0d0e0f"};

/* Two ranks with a forward pass each, 1 ms apart by their clocks. */
static fd_status
make(fd_trace *trace, bool hosts)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < 2 && status == FD_OK; i++) {
        fd_trace_rank *rank = fd_trace_add_rank(trace);
        if (rank == NULL) {
            return FD_ENOMEM;
        }
        rank->rank = i;
        rank->start = (fd_file_anchor){.monotonic_ns = 1000000 * i,
                                       .realtime_ns = 1000000 * (i + 1),
                                       .boottime_ns = 1000000 * i};
        strcpy(rank->boot_id, boots[hosts ? i : 0]);
        fd_trace_job job = {
            .start = 5, .duration = 10, .stage = i + 1, .micro_batch = 1};
        status = fixture_text(trace, "F", &job.kind);
        if (status == FD_OK) {
            status = fd_vector_push(&rank->jobs, job);
        }
    }
    return status;
}

static void
one_host_is_one_clock(void)
{
    for (int hosts = 0; hosts < 2; hosts++) {
        NEW_TRACE(trace);
        CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
        CLEAN(fd_pipe_matches_clear) fd_pipe_matches found = {.matched = 0};
        OK(make(trace, hosts != 0));
        fd_pipe_known known[2] = {{.position = -1, .data = -1, .model = -1},
                                  {.position = -1, .data = -1, .model = -1}};
        OK(fd_timeline_jobs(&p, &found, trace, known, false, NULL));
        EQUAL(p.ranks.list[1].unsure, hosts ? -1 : 0);
        if (!hosts) {
            EQUAL(p.jobs.list[1].start - p.jobs.list[0].start, 1000000);
        }
    }
}

static void
an_empty_trace(void)
{
    NEW_TRACE(trace);
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    CLEAN(fd_pipe_matches_clear) fd_pipe_matches found = {.matched = 0};
    OK(fd_timeline_jobs(&p, &found, trace, NULL, false, NULL));
    EQUAL(p.ranks.count, 0);
}

RUN(TEST(one_host), TEST(two_hosts), TEST(one_host_is_one_clock),
    TEST(an_empty_trace))
