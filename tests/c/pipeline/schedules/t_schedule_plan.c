#include "check.h"

#include "pipeline/schedules/schedule_plan.h"

#include <string.h>

static fd_status
make(fd_plan *plan, fd_schedule schedule, uint32_t stages,
     uint32_t micro_batches, uint32_t chunks, uint32_t group, fd_error *error)
{
    fd_plan_request request = {.schedule = schedule,
                               .stages = stages,
                               .micro_batches = micro_batches,
                               .chunks = chunks,
                               .group = group};
    return fd_plan_make(plan, &request, error);
}

/* Stages lie one behind the other, their steps rise. */
static void
order(void)
{
    for (int i = 0; i < FD_SCHEDULES; i++) {
        CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
        uint32_t chunks = i == FD_SCHEDULE_INTERLEAVED ? 2 : 0;
        OK(make(&plan, (fd_schedule)i, 3, 6, chunks, 0, NULL));
        EQUAL(plan.first[0], 0);
        EQUAL(plan.first[3], plan.jobs.count);
        for (uint32_t stage = 0; stage < 3; stage++) {
            int32_t step = 0;
            CHECK(plan.buffers[stage] > 0);
            for (uint32_t j = plan.first[stage]; j < plan.first[stage + 1];
                 j++) {
                const fd_plan_job *job = &plan.jobs.list[j];
                EQUAL(fd_plan_holder(&plan, (uint32_t)job->stage), stage);
                CHECK(job->step >= step && job->step < (int32_t)plan.steps);
                step = job->step;
            }
        }
    }
}

static void
in_flight(void)
{
    CLEAN(fd_plan_clear) fd_plan one = {.first = NULL};
    CLEAN(fd_plan_clear) fd_plan all = {.first = NULL};
    CLEAN(fd_plan_clear) fd_plan none = {.first = NULL};
    OK(make(&one, FD_SCHEDULE_1F1B, 3, 8, 0, 0, NULL));
    OK(make(&all, FD_SCHEDULE_GPIPE, 3, 8, 0, 0, NULL));
    OK(make(&none, FD_SCHEDULE_DEEPSPEED_INFERENCE, 3, 8, 0, 0, NULL));
    for (uint32_t stage = 0; stage < 3; stage++) {
        EQUAL(fd_plan_in_flight(&one, stage), 3 - stage);
        EQUAL(fd_plan_in_flight(&all, stage), 8);
        EQUAL(fd_plan_in_flight(&none, stage), 0);
    }
}

/* Groups as Megatron has them, by default as PyTorch has. */
static void
groups(void)
{
    static const struct {
        uint32_t stages, micro_batches, asked, made;
    } cases[] = {{4, 8, 0, 4}, {4, 10, 0, 5}, {4, 3, 0, 3},
                 {4, 8, 8, 8}, {2, 7, 5, 5},  {1, 3, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
        OK(make(&plan, FD_SCHEDULE_INTERLEAVED, cases[i].stages,
                cases[i].micro_batches, 2, cases[i].asked, NULL));
        EQUAL(plan.group, cases[i].made);
        EQUAL(plan.steps, 4 * cases[i].micro_batches);
    }
}

static void
refused(void)
{
    static const struct {
        fd_schedule schedule;
        uint32_t stages, micro_batches, chunks, group;
        const char *words;
    } cases[] = {
        {FD_SCHEDULE_1F1B, 0, 4, 0, 0, "at least one stage"},
        {FD_SCHEDULE_1F1B, 4, 0, 0, 0, "at least one stage"},
        {FD_SCHEDULE_1F1B, 4, 4, 2, 0, "1f1b has 1 chunk per stage, not 2"},
        {FD_SCHEDULE_1F1B, 4, 4, 0, 4, "1f1b has no groups"},
        {FD_SCHEDULE_ZB_V, 4, 4, 3, 0, "zb-v has 2 chunks per stage, not 3"},
        {FD_SCHEDULE_INTERLEAVED, 4, 4, 0, 0, "at least 2 chunks"},
        {FD_SCHEDULE_INTERLEAVED, 4, 9, 2, 0, "2 rounds that 4 stages make"},
        {FD_SCHEDULE_INTERLEAVED, 4, 8, 2, 3, "not 3"},
        {FD_SCHEDULE_INTERLEAVED, 4, 8, 2, 9, "not 9"},
        {FD_SCHEDULE_INTERLEAVED, 4, 9, 2, 6, "would have 3 micro-batches"},
        {FD_SCHEDULE_GPIPE, 40000, 1, 0, 0, "too many"},
        {FD_SCHEDULE_GPIPE, 1000, 100000, 0, 0, "too many"},
        {FD_SCHEDULE_DEEPSPEED_TRAIN, 30000, 1, 0, 0, "too many"},
        {FD_SCHEDULE_INTERLEAVED, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0,
         "too many"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
        fd_error error = {""};
        STATUS(make(&plan, cases[i].schedule, cases[i].stages,
                    cases[i].micro_batches, cases[i].chunks, cases[i].group,
                    &error),
               FD_EINVAL);
        if (strstr(error.text, cases[i].words) == NULL) {
            SAME(error.text, cases[i].words);
        }
    }
}

RUN(TEST(order), TEST(in_flight), TEST(groups), TEST(refused))
