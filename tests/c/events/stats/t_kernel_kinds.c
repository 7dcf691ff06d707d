#include "check.h"

#include "events/stats/kernel_kinds.h"

/* compute 0..10 and 20..30, communication 5..25, memory 8..9 and 40..42:
 *
 *     0    5   8 9 10     20     25    30     40 42
 *     C    CM  all CM  M     CM     C     -     Y */
static void
exactly_these_kinds(void)
{
    static const struct {
        fd_work work;
        int64_t from;
        int64_t to;
    } slices[] = {{FD_WORK_COMPUTE, 0, 10},       {FD_WORK_COMPUTE, 20, 30},
                  {FD_WORK_COMMUNICATION, 5, 25}, {FD_WORK_COPY, 8, 9},
                  {FD_WORK_COPY, 40, 42},         {FD_WORK_NONE, 90, 99}};
    CLEAN(fd_lanes_clear) fd_lanes lanes = {.held = 0};
    CLEAN(fd_rank_work_clear) fd_rank_work work = {.busy = {.sorted = 0}};
    fd_kernel_kinds kinds = {.any = false};
    for (uint32_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        OK(fd_lanes_add(&lanes, 0, i, slices[i].work, slices[i].from,
                        slices[i].to));
        fd_kernel_kinds_add(&kinds, slices[i].work, slices[i].from,
                            slices[i].to);
    }
    OK(fd_lanes_of_rank(&lanes, 0, &work));
    OK(fd_kernel_kinds_measure(&kinds, &work));
    EQUAL(kinds.first, 0);
    EQUAL(kinds.last, 42);
    EQUAL(kinds.count[0], 2);
    EQUAL(kinds.total[0], 20);
    EQUAL(kinds.total[1], 20);
    EQUAL(kinds.total[2], 3);
    EQUAL(kinds.time[1], 10); /* compute */
    EQUAL(kinds.time[2], 10); /* communication */
    EQUAL(kinds.time[1 | 2], 9);
    EQUAL(kinds.time[4], 2); /* memory */
    EQUAL(kinds.time[1 | 4], 0);
    EQUAL(kinds.time[2 | 4], 0);
    EQUAL(kinds.time[7], 1);
    SAME(fd_kernel_kind_name(2), "memory");
}

RUN(TEST(exactly_these_kinds))
