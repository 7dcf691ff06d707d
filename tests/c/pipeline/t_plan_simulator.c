#include "check.h"

#include "pipeline/plan_simulator.h"

#include <string.h>

enum { JOBS = 8 };

/* 1F1B, two stages, one micro-batch. */
static const fd_plan_job jobs[JOBS] = {
    {FD_JOB_F, 0, 0, -1, 0, -1}, {FD_JOB_SA, 0, 0, -1, 0, 1},
    {FD_JOB_RG, 1, 0, -1, 0, 1}, {FD_JOB_B, 1, 0, -1, 0, -1},
    {FD_JOB_RA, 0, 0, -1, 1, 0}, {FD_JOB_F, 0, 0, -1, 1, -1},
    {FD_JOB_B, 1, 0, -1, 1, -1}, {FD_JOB_SG, 1, 0, -1, 1, 0},
};
static const uint32_t first[] = {0, 4, JOBS};
static const fd_plan plan = {.schedule = "1f1b",
                             .stages = 2,
                             .globals = 2,
                             .micro_batches = 1,
                             .waiting = FD_WAIT_TOGETHER,
                             .first = first,
                             .jobs = jobs,
                             .count = JOBS};
static const int64_t times[JOBS] = {10, 0, 3, 20, 3, 10, 20, 0};

#define OVERLAPPED ((fd_prices){.times = times})
#define BLOCKING ((fd_prices){.times = times, .blocking = true})

/* The path is everything, transfers included. */
TEST(critical)
{
    static const uint32_t path[JOBS] = {0, 1, 4, 5, 6, 7, 2, 3};
    ARENA(arena);
    fd_replay replay;
    CHECK(fd_plan_fits(&plan));
    OK(fd_replay_run(&replay, &arena, &plan, &OVERLAPPED, NULL));
    FIELDS(&replay, (makespan, 66), (critical.count, JOBS));
    for (uint32_t i = 0; i < JOBS; i++) {
        EQUAL(replay.critical.list[i], path[i]);
    }
    FIELDS(&replay, (begin[4], 0), (end[4], 13), (stages[1].first, 13));
}

/* A send that does not wait; both ends of the others do. */
TEST(posted)
{
    static const bool sends[JOBS] = {[1] = true};
    fd_prices prices = {.times = times, .posted = sends};
    ARENA(arena);
    fd_replay replay;
    OK(fd_replay_run(&replay, &arena, &plan, &prices, NULL));
    FIELDS(&replay, (makespan, 66), (end[1], 13));
    OK(fd_replay_run(&replay, &arena, &plan, &BLOCKING, NULL));
    EQUAL(replay.makespan, 66);
}

static void
refuse(const fd_plan *with, fd_prices prices, const char *words)
{
    ARENA(arena);
    fd_replay replay;
    fd_error error = {""};
    STATUS(fd_replay_run(&replay, &arena, with, &prices, &error), FD_EINVAL);
    if (!check_refused()) {
        HAS(error.text, words);
    }
}

TEST(refused)
{
    fd_plan_job other[JOBS];
    fd_plan with = plan;
    static const int64_t negative[JOBS] = {-1};
    static const int64_t longest[JOBS] = {INT64_C(1) << 62, 1};
    refuse(&plan, (fd_prices){.times = negative}, "negative");
    refuse(&plan, (fd_prices){.times = longest}, "too large");
    with.waiting = FD_WAIT_NEVER;
    refuse(&with, BLOCKING, "no blocking transfers");
    with.waiting = FD_WAIT_EACH;
    with.jobs = other;
    memcpy(other, jobs, sizeof jobs);
    other[1] = jobs[2]; /* each end receives before it sends */
    other[2] = jobs[1];
    refuse(&with, BLOCKING, "deadlock, stage 0 waits in RG");
    other[1] = jobs[1];
    other[2].kind = FD_JOB_OPT;
    refuse(&with, OVERLAPPED,
           "SG of micro-batch 0 on stage 1 has no other end");
    other[2].kind = FD_JOB_SG;
    refuse(&with, OVERLAPPED, "its like");
}

TEST(numbers_in_range)
{
    static const fd_plan_job invalid[] = {
        {FD_JOB_KINDS, 0, 0, -1, 0, -1}, {-1, 0, 0, -1, 0, -1},
        {FD_JOB_F, 0, 1, -1, 0, -1},     {FD_JOB_F, 0, 0, -1, 2, -1},
        {FD_JOB_SA, 0, 0, -1, 0, -1},    {FD_JOB_SA, 0, -1, -1, 0, 1},
        {FD_JOB_SA, 0, 0, -1, 0, 2},     {FD_JOB_F, 0, 0, -1, -1, -1},
    };
    static const uint32_t falling[] = {0, JOBS + 1, JOBS};
    fd_plan_job other[JOBS];
    fd_plan with = plan;
    with.jobs = other;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        memcpy(other, jobs, sizeof jobs);
        other[0] = invalid[i];
        CHECK(!fd_plan_fits(&with));
    }
    with = plan;
    with.first = falling;
    CHECK(!fd_plan_fits(&with));
}
