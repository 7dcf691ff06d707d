#include "check.h"
#include "pipelines.h"

static fd_status
skewed(fd_pipe_report *r, bool strict, fd_error *error)
{
    static const int64_t skew[] = {0, PIPELINE_UNIT};
    pipeline_spec spec = {.schedule = "1f1b",
                          .stages = 2,
                          .micro_batches = 4,
                          .moves = true,
                          .skew = skew};
    fd_pipe_request request = {.named = FD_SCHEDULES, .strict = strict};
    fd_status status = pipeline_simulated(&r->pipeline, &spec);
    if (status == FD_OK) {
        status = fd_pipeline_settle(&r->pipeline);
    }
    return status == FD_OK ? fd_pipeline_report(r, &request, error) : status;
}

static void
strict_refuses_clocks(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    CLEAN(fd_pipe_report_clear) fd_pipe_report strict = {.drawn_line = 0};
    fd_error error = {""};
    OK(skewed(&r, false, NULL));
    STATUS(skewed(&strict, true, &error), FD_EINVAL);
    SAME(error.text, "the clocks of rank 0 and rank 1 are not aligned: they"
                     " are of different hosts; omit"
                     " --require-aligned-clocks for bounds");
}

/* Replicas are apart: the longer line is drawn. */
static void
copies(void)
{
    SIMULATED(r, .schedule = "1f1b", .stages = 2, .micro_batches = 4,
              .moves = true, .lines = 2);
    fd_pipe_job *last = &r.pipeline.jobs.list[r.pipeline.jobs.count - 1];
    last->end += 5 * PIPELINE_UNIT; /* of rank 3, line 1 */
    OK(fd_pipeline_settle(&r.pipeline));
    OK(fd_pipeline_report(&r, &(fd_pipe_request){.named = FD_SCHEDULES},
                          NULL));
    EQUAL(r.pipeline.lines, 2);
    EQUAL(r.matches.matched, 2 * 8);
    CHECK(r.schedule.known);
}

/* A stage without a recording: the others are reported, its transfers
 * have no other end. */
static void
a_rank_is_missing(void)
{
    REPORTED(r, .schedule = "1f1b", .stages = 3, .micro_batches = 4,
             .moves = true, .absent = 2);
    EQUAL(r.pipeline.stages, 3);
    EQUAL(r.matches.matched, 0);
    EQUAL(r.matches.alone.count, 16);
    CHECK(r.idle.drawn == 0 && r.idle.shares[0].whole);
    CHECK(r.idle.shares[0].parts[FD_PART_UNMATCHED] > 0);
    CHECK(r.schedule.known);
}

static void
nothing(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    OK(fd_pipeline_settle(&r.pipeline));
    OK(fd_pipeline_report(&r, &(fd_pipe_request){.named = FD_SCHEDULES},
                          NULL));
    EQUAL(r.idle.drawn, -1);
    EQUAL(r.ifs.list.count, 0);
}

RUN(TEST(strict_refuses_clocks), TEST(copies), TEST(a_rank_is_missing),
    TEST(nothing))
