#include "check.h"
#include "timelines.h"

#include "trace/export_options.h"

TEST(labels_of_clocks)
{
    CLEAN(fd_buffer_clear) fd_buffer label = {.bytes = NULL};
    const fd_rank_clock known = {.map = {.offset_ns = -7, .drift_ppt = 5000},
                                 .method = "pingpong",
                                 .uncertainty_ns = 900,
                                 .has_residual = true,
                                 .residual_ns = 3};
    const fd_rank_clock unknown = {.method = "wall",
                                   .uncertainty_ns = FD_CLOCK_UNKNOWN};
    fd_export_clock_label(&known, &label);
    fd_buffer_text(&label, "|");
    fd_export_clock_label(&unknown, &label);
    WRITTEN(
        &label,
        "clock pingpong: offset -7 ns, drift 5 ppb, within 900 ns, residual 3 "
        "ns|clock wall: offset 0 ns, drift 0 ppb");
}

/* Without clocks that were fitted: from the starts of the ranks. */
TEST(clocks_of_ranks)
{
    TIMELINE_TRACE(trace, true);
    fd_export_options options = {.clocks = NULL};
    EQUAL(fd_export_clock_of(trace, &options, 0).offset_ns, 0);
    EQUAL(fd_export_clock_of(trace, &options, 1).offset_ns, 1000);
    const fd_rank_clock clocks[2] = {{.map = {.offset_ns = 0}},
                                     {.map = {.offset_ns = 42}}};
    options.clocks = clocks;
    EQUAL(fd_export_clock_of(trace, &options, 1).offset_ns, 42);
}
