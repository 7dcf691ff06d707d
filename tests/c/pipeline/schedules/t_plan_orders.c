#include "check.h"
#include "plans.h"

static void
gpipe(void)
{
    TABLES("gpipe", 2, 3, "F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2");
    TABLES("gpipe", 1, 1, "F0 B0");
}

/* A last group that is shorter: 5 micro-batches in groups of 3 and 2. */
static void
short_group(void)
{
    fd_plan_request request = {.schedule = FD_SCHEDULE_INTERLEAVED,
                               .stages = 2,
                               .micro_batches = 5,
                               .chunks = 2,
                               .group = 3};
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(fd_plan_make(&plan, &request, NULL));
    const char *got = plan_table(&plan, 1, &text);
    OK(text.status);
    SAME(got, "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4"
              " 3B3 3B4 1B3 1B4");
}

/* A transfer stands beside its computation, between two stages alone. */
static void
transfers(void)
{
    PLAN(plan, "1f1b", 3, 1);
    CLEAN(fd_plan_clear) fd_plan alone = {.first = NULL};
    static const fd_job_kind kinds[] = {FD_JOB_RA, FD_JOB_F, FD_JOB_SA,
                                        FD_JOB_RG, FD_JOB_B, FD_JOB_SG};
    static const int peers[] = {0, -1, 2, 2, -1, 0};
    EQUAL(plan.first[2] - plan.first[1], 6);
    for (uint32_t i = 0; i < 6; i++) {
        const fd_plan_job *job = &plan.jobs.list[plan.first[1] + i];
        EQUAL(job->kind, kinds[i]);
        EQUAL(job->peer, peers[i]);
        EQUAL(job->step, i / 3);
        EQUAL(job->buffer, -1);
    }
    OK(plan_of(&alone, "interleaved", 1, 2));
    EQUAL(alone.jobs.count, 8);
}

RUN(TEST(gpipe), TEST(short_group), TEST(transfers))
