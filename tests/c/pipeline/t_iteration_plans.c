#include "check.h"
#include "fixtures.h"
#include "plans.h"

#include "pipeline/iteration_plans.h"
#include "trace/trace.h"

#include <string.h>

static const char FACTS[] =
    "{\"class\":\"X\",\"schedule\":null,\"difference\":null,\"note\":null}";

static fd_status
add_job(fd_trace *trace, const char *kind, fd_trace_job job)
{
    fd_status status = fixture_text(trace, kind, &job.kind);
    job.iteration = 1;
    job.flags |= FD_JOB_ATTACHED;
    return status == FD_OK ? fd_vector_push(&trace->ranks.list[0].jobs, job)
                           : status;
}

/* One iteration of a rank, whose jobs are added later. */
static fd_status
begin(fd_trace **trace, const char *schedule, uint32_t micro_batches,
      uint32_t processes, uint32_t stages, uint32_t flags)
{
    fd_trace_iteration made = {.flags = FD_ITERATION_KNOWN | flags,
                               .micro_batches = micro_batches + 1,
                               .stages = stages + 1,
                               .processes = processes + 1,
                               .position = 1};
    fd_trace_meta meta;
    strcpy(made.schedule, schedule);
    *trace = fd_trace_new();
    fd_trace_rank *rank = *trace != NULL ? fd_trace_add_rank(*trace) : NULL;
    if (rank == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = add_job(*trace, "ITER", (fd_trace_job){.step = 0});
    status |= fd_vector_push(&rank->iterations, made);
    status |= fd_text_pool_add(&(*trace)->texts, "pipeline", 8, &meta.key);
    status |= fd_text_pool_add(&(*trace)->texts, FACTS, sizeof FACTS - 1,
                               &meta.json);
    status |= fd_vector_push(&rank->meta, meta);
    return status == FD_OK ? FD_OK : FD_ENOMEM;
}

static const char *
facts(const fd_trace *trace)
{
    return fd_rank_fact(trace, &trace->ranks.list[0], "pipeline");
}

/* GPipe, stage 0 of 2, one micro-batch. */
static void
an_iteration_follows_its_plan(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(begin(&trace, "ScheduleGPipe", 1, 2, 2, FD_ITERATION_ENDED));
    fd_trace_job job = {.micro_batch = 1, .stage = 1};
    OK(add_job(trace, "F", job));
    OK(add_job(trace, "SA", job));
    OK(add_job(trace, "RG", job));
    OK(add_job(trace, "B", job));
    OK(fd_iterations_compare(trace));
    HAS(facts(trace), "\"schedule\":\"gpipe\"");
    HAS(facts(trace), "\"difference\":null");
    EQUAL(trace->ranks.list[0].iterations.count, 0);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK((trace->ranks.list[0].jobs.list[i].flags & FD_JOB_UNPLANNED)
              == 0);
    }
}

static void
a_difference_is_flagged_and_named(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(begin(&trace, "ScheduleGPipe", 1, 2, 2, FD_ITERATION_ENDED));
    fd_trace_job job = {.micro_batch = 1, .stage = 1};
    OK(add_job(trace, "B", job));
    OK(add_job(trace, "F", job));
    OK(fd_iterations_compare(trace));
    HAS(facts(trace), "iteration 0, stage 0, job 1: ran B");
    CHECK((trace->ranks.list[0].jobs.list[1].flags & FD_JOB_UNPLANNED) != 0);
}

static void
without_plan_no_comparison(void)
{
    static const struct {
        const char *schedule;
        uint32_t flags;
    } cases[] = {
        {"X", FD_ITERATION_ENDED},
        {"ScheduleGPipe", 0},
        {"ScheduleGPipe", FD_ITERATION_ENDED | FD_ITERATION_CUT},
        {"ScheduleGPipe", FD_ITERATION_ENDED | FD_ITERATION_OWN_ORDER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        OK(begin(&trace, cases[i].schedule, 1, 2, 2, cases[i].flags));
        OK(add_job(trace, "B", (fd_trace_job){.micro_batch = 1, .stage = 1}));
        OK(fd_iterations_compare(trace));
        HAS(facts(trace), "\"difference\":null");
        CHECK((trace->ranks.list[0].jobs.list[1].flags & FD_JOB_UNPLANNED)
              == 0);
        if (i != 2) {
            HAS(facts(trace), "no plan of X: jobs are not compared");
        }
    }
}

/* Process 0 of 2 with 2 chunks has stages 0 and 2: F of 0, then of 2. */
static void
jobs_without_numbers_get_those_of_the_plan(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(begin(&trace, "ScheduleInterleaved1F1B", 2, 2, 4, 0));
    for (uint32_t i = 0; i < 5; i++) {
        OK(add_job(trace, "F",
                   (fd_trace_job){.ordinal = i + 1, .micro_batch = i + 1}));
    }
    OK(fd_iterations_compare(trace));
    const fd_trace_job *jobs = trace->ranks.list[0].jobs.list + 1;
    for (uint32_t i = 0; i < 4; i++) {
        EQUAL(jobs[i].micro_batch, i % 2 + 1);
        EQUAL(jobs[i].stage, i < 2 ? 1 : 3);
        EQUAL(jobs[i].chunk, i < 2 ? 1 : 2);
        EQUAL(jobs[i].ordinal, 0);
    }
    EQUAL(jobs[4].micro_batch, 1); /* past the plan, counted from 0 */
    EQUAL(jobs[4].stage, 0);
}

RUN(TEST(an_iteration_follows_its_plan),
    TEST(a_difference_is_flagged_and_named), TEST(without_plan_no_comparison),
    TEST(jobs_without_numbers_get_those_of_the_plan))
