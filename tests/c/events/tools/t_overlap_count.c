#include "check.h"

#include "events/tools/overlap_count.h"

static fd_status
add(fd_overlaps *overlaps, uint32_t thread, int64_t start, int64_t duration)
{
    static const char tid[] = "1";
    fd_timeline_event event = {.phase = 'X',
                               .tid = {tid, tid + 1},
                               .has_start = true,
                               .has_duration = true,
                               .start = start,
                               .duration = duration};
    return fd_overlaps_add(overlaps, &event, thread);
}

TEST(nested)
{
    CLEAN(fd_overlaps_clear) fd_overlaps overlaps = {.count = 0};
    static const int64_t slices[][2] = {{10, 5}, {10, 20}, {10, 1},  {12, 3},
                                        {30, 0}, {30, 5},  {5, 100}, {60, 1}};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        OK(add(&overlaps, 3, slices[i][0], slices[i][1]));
    }
    EQUAL(overlaps.count, 0);
}

TEST(partly_overlapping)
{
    CLEAN(fd_overlaps_clear) fd_overlaps overlaps = {.count = 0};
    OK(add(&overlaps, 0, 0, 10));
    OK(add(&overlaps, 0, 5, 10));
    OK(add(&overlaps, 1, 5, 10));
    OK(add(&overlaps, 0, 9, 2));
    EQUAL(overlaps.count, 2);
    OK(add(&overlaps, 0, 20, 10)); /* after both */
    OK(add(&overlaps, 0, 2, 100)); /* earlier: not compared */
    OK(add(&overlaps, 0, 101, 2));
    EQUAL(overlaps.count, 3);
    fd_timeline_event other = {.phase = 'i', .has_start = true, .start = 3};
    OK(fd_overlaps_add(&overlaps, &other, 0));
    EQUAL(overlaps.count, 3);
}
