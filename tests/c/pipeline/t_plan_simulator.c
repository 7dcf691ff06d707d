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

static void
list_clear(fd_job_list *list)
{
    fd_vector_clear(list);
}

/* The path is everything, transfers included. */
TEST(critical)
{
    static const uint32_t path[JOBS] = {0, 1, 4, 5, 6, 7, 2, 3};
    CLEAN(fd_replay_clear) fd_replay replay = {.begin = NULL};
    CLEAN(list_clear) fd_job_list list = {NULL, 0, 0};
    CHECK(fd_plan_fits(&plan));
    OK(fd_replay_run(&replay, &plan, times, false, NULL));
    EQUAL(replay.makespan, 66);
    OK(fd_replay_critical(&list, &replay));
    EQUAL(list.count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++) {
        EQUAL(list.list[i], path[i]);
    }
    FIELDS(&replay, (begin[4], 0), (end[4], 13), (stages[1].first, 13));
}

/* A send that does not wait; both ends of the others do. */
TEST(posted)
{
    static const bool sends[JOBS] = {[1] = true};
    CLEAN(fd_replay_clear) fd_replay replay = {.begin = NULL};
    OK(fd_replay_run_posted(&replay, &plan, times, sends, NULL));
    FIELDS(&replay, (makespan, 66), (end[1], 13));
    CLEAN(fd_replay_clear) fd_replay blocking = {.begin = NULL};
    OK(fd_replay_run(&blocking, &plan, times, true, NULL));
    EQUAL(blocking.makespan, 66);
}

static void
refuse(const fd_plan *with, const int64_t *priced, bool blocking,
       const char *words)
{
    CLEAN(fd_replay_clear) fd_replay replay = {.begin = NULL};
    fd_error error = {""};
    STATUS(fd_replay_run(&replay, with, priced, blocking, &error), FD_EINVAL);
    if (!check_refused()) {
        HAS(error.text, words);
    }
}

TEST(refused)
{
    fd_plan_job other[JOBS];
    fd_plan with = plan;
    int64_t negative[JOBS] = {-1};
    int64_t longest[JOBS] = {INT64_C(1) << 62, 1};
    refuse(&plan, negative, false, "negative");
    refuse(&plan, longest, false, "too large");
    with.waiting = FD_WAIT_NEVER;
    refuse(&with, times, true, "no blocking transfers");
    with.waiting = FD_WAIT_EACH;
    with.jobs = other;
    memcpy(other, jobs, sizeof jobs);
    other[1] = jobs[2]; /* each end receives before it sends */
    other[2] = jobs[1];
    refuse(&with, times, true, "deadlock, stage 0 waits in RG");
    other[1] = jobs[1];
    other[2].kind = FD_JOB_OPT;
    refuse(&with, times, false,
           "SG of micro-batch 0 on stage 1 has no other end");
    other[2].kind = FD_JOB_SG;
    refuse(&with, times, false, "its like");
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
