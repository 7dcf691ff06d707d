#include "check.h"
#include "pipelines.h"

/* The pieces lie end to end; jobs on them have no slack. */
static void
as_long_as_the_iteration(void)
{
    static const char *const schedules[] = {
        "1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "deepspeed-train"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        for (int moves = 0; moves < 2; moves++) {
            bool blocks = i == 5;
            REPORTED(r, .schedule = schedules[i], .stages = 3,
                     .micro_batches = 6, .transfer = blocks ? 1 : 0,
                     .moves = moves != 0 || blocks);
            int64_t time = r.idle.shares[0].start;
            CHECK(r.path.pieces.count > 6);
            for (uint32_t j = 0; j < r.path.pieces.count; j++) {
                const fd_pipe_piece *piece = &r.path.pieces.list[j];
                EQUAL(piece->start, time);
                CHECK(piece->job != FD_NO_PIPE_JOB);
                EQUAL(r.pipeline.jobs.list[piece->job].slack, 0);
                time = piece->end;
            }
            EQUAL(time, r.idle.shares[0].end);
        }
    }
}

/* Two stages, the second one is busy for 10 of 60: its slack is limited by the
 * next pass of the first one. */
static void
slack(void)
{
    ONE_RANK(r, p);
    OK(pipeline_job(p, "F", 0, 0, 0, 10));
    OK(pipeline_job(p, "F", 0, 1, 10, 20));
    OK(pipeline_job(p, "B", 0, 0, 40, 50));
    OK(pipeline_job(p, "B", 0, 1, 50, 60));
    OK(fd_pipeline_add_rank(
        p, &(fd_pipe_rank){.rank = 1, .position = -1, .data = -1}));
    OK(pipeline_job(p, "F", 1, 0, 10, 20));
    OK(pipeline_job(p, "B", 1, 0, 20, 40));
    OK(pipeline_job(p, "F", 1, 1, 40, 42));
    OK(pipeline_job(p, "B", 1, 1, 42, 45));
    REPORT(r);
    EQUAL(pipeline_find(p, "B", 1, 0)->slack, 0);
    EQUAL(pipeline_find(p, "F", 0, 0)->slack, 0);
    EQUAL(pipeline_find(p, "B", 0, 0)->slack, 0);
    EQUAL(pipeline_find(p, "B", 1, 1)->slack, 5);
    EQUAL(pipeline_find(p, "F", 1, 1)->slack, 5);
    EQUAL(pipeline_find(p, "F", 0, 1)->slack, 20);
    CHECK((pipeline_find(p, "B", 1, 0)->flags & FD_PIPE_ON_PATH) != 0);
    CHECK((pipeline_find(p, "B", 1, 1)->flags & FD_PIPE_ON_PATH) == 0);
}

RUN(TEST(as_long_as_the_iteration), TEST(slack))
