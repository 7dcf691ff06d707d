#include "check.h"

#include "events/stats/busy_intervals.h"

/* Thread 1 computes 0..100 with a call that communicates in 40..50; thread 2
 * communicates 80..130; thread 3 copies 120..150. */
static void
one_rank(void)
{
    CLEAN(fd_lanes_clear) fd_lanes lanes = {.held = 0};
    CLEAN(fd_rank_work_clear) fd_rank_work work = {.busy = {.sorted = 0}};
    OK(fd_lanes_add(&lanes, 0, 1, FD_WORK_COMPUTE, 0, 100));
    OK(fd_lanes_add(&lanes, 0, 1, FD_WORK_COMMUNICATION, 40, 50));
    OK(fd_lanes_add(&lanes, 0, 2, FD_WORK_COMMUNICATION, 80, 130));
    OK(fd_lanes_add(&lanes, 0, 3, FD_WORK_COPY, 120, 150));
    OK(fd_lanes_add(&lanes, 0, 3, FD_WORK_NONE, 0, 1000));
    OK(fd_lanes_add(&lanes, 1, 1, FD_WORK_COMPUTE, 0, 1000));
    OK(fd_lanes_of_rank(&lanes, 0, &work));
    fd_work_sums sums = fd_rank_work_within(&work, 0, 1000);
    EQUAL(sums.busy, 150);
    EQUAL(sums.compute, 90);
    EQUAL(sums.communication, 60);
    EQUAL(sums.exposed, 10 + 30);
    EQUAL(sums.copies, 30);
    sums = fd_rank_work_within(&work, 45, 90);
    EQUAL(sums.busy, 45);
    EQUAL(sums.compute, 40);
    EQUAL(sums.communication, 5 + 10);
    EQUAL(sums.exposed, 5);
}

/* Too many intervals: the shortest gaps are closed and counted. */
static void
bounded(void)
{
    CLEAN(fd_lanes_clear) fd_lanes lanes = {.most = 20000};
    CLEAN(fd_rank_work_clear) fd_rank_work work = {.busy = {.sorted = 0}};
    for (int64_t i = 0; i < 60000; i++) {
        int64_t from = 1000 * i;
        OK(fd_lanes_add(&lanes, 0, 1, FD_WORK_COMPUTE, from,
                        from + (i % 10 == 0 ? 400 : 950)));
    }
    CHECK(lanes.gap > 0 && lanes.gap < 600);
    CHECK(lanes.held <= 20000);
    OK(fd_lanes_of_rank(&lanes, 0, &work));
    fd_work_sums sums = fd_rank_work_within(&work, 0, 60000000);
    EQUAL(sums.busy - (int64_t)lanes.closed_ns, 54000 * 950 + 6000 * 400);
}

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

RUN(TEST(one_rank), ONCE(bounded), TEST(exactly_these_kinds))
