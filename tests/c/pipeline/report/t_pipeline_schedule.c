#include "check.h"
#include "pipelines.h"

static const fd_schedule all[] = {FD_SCHEDULE_DEEPSPEED_TRAIN,
                                  FD_SCHEDULE_DEEPSPEED_INFERENCE,
                                  FD_SCHEDULE_GPIPE,
                                  FD_SCHEDULE_1F1B,
                                  FD_SCHEDULE_INTERLEAVED,
                                  FD_SCHEDULE_ZB_H1,
                                  FD_SCHEDULE_ZB_V};

/* By its order; and replayed it takes as long as it took. */
static void
all_schedules_are_recognized(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        REPORTED(r, .schedule = fd_schedule_name(all[i]), .stages = 3,
                 .micro_batches = 6, .moves = true, .iterations = 3);
        CHECK(r.schedule.known);
        EQUAL(r.schedule.plan.schedule, all[i]);
        EQUAL(r.schedule.micro_batches, 6);
        EQUAL(r.ifs.base.makespan,
              r.idle.shares[1].end - r.idle.shares[1].start);
    }
}

static void
another_than_was_named(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    pipeline_spec spec = {
        .schedule = "gpipe", .stages = 2, .micro_batches = 4};
    OK(pipeline_reported(&r, &spec, FD_SCHEDULE_1F1B));
    CHECK(!r.schedule.known);
    SAME(r.schedule.difference, "rank 0: F of micro-batch 2 on stage 0 where"
                                " the schedule has B of micro-batch 0 on"
                                " stage 0");
    EQUAL(r.ifs.list.count, 0);
}

static void
unknown_schedule(void)
{
    ONE_RANK(r, p);
    OK(pipeline_job(p, "B", 0, 1, 0, 10));
    OK(pipeline_job(p, "F", 0, 0, 10, 20));
    REPORT(r);
    CHECK(!r.schedule.known);
    SAME(r.schedule.difference, "");
    EQUAL(r.schedule.micro_batches, 2);
}

/* The host was late by 5 before the second pass: part of what it takes. */
static void
with_its_launch_gaps(void)
{
    ONE_RANK(r, p);
    OK(pipeline_job(p, "F", 0, 0, 0, 10));
    OK(pipeline_job(p, "B", 0, 0, 15, 35));
    REPORT(r);
    CHECK(r.schedule.known);
    EQUAL(r.schedule.prices[FD_JOB_B][0], 25);
    EQUAL(r.ifs.base.makespan, 35);
}

RUN(TEST(all_schedules_are_recognized), TEST(another_than_was_named),
    TEST(unknown_schedule), TEST(with_its_launch_gaps))
