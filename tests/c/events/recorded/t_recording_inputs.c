#include "check.h"
#include "timelines.h"

#include "events/recorded/recording_inputs.h"

static void
one_host(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fd_export_clock clocks[2];
    int64_t base;
    OK(fixture_timeline(&trace, true));
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
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fd_export_clock clocks[2];
    fd_error error;
    int64_t base;
    OK(fixture_timeline(&trace, false));
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

RUN(TEST(one_host), TEST(two_hosts))
