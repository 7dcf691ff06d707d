#include "check.h"
#include "pipelines.h"

#include "pipeline/report/pipeline_dependencies.h"

/* Without transfers a pass depends on that of the stage before or after. */
static void
producers(void)
{
    for (int moves = 0; moves < 2; moves++) {
        REPORTED(r, .schedule = "1f1b", .stages = 3, .micro_batches = 4,
                 .moves = moves != 0, .lines = 2);
        const fd_pipe *p = &r.pipeline;
        uint32_t found = 0;
        for (uint32_t i = 0; i < p->jobs.count; i++) {
            const fd_pipe_job *job = &p->jobs.list[i];
            if (r.idle.producers[i] == FD_NO_PIPE_JOB) {
                continue;
            }
            const fd_pipe_job *maker = &p->jobs.list[r.idle.producers[i]];
            found++;
            EQUAL(maker->kind, job->kind);
            EQUAL(maker->micro_batch, job->micro_batch);
            EQUAL(maker->stage,
                  job->kind == FD_JOB_F ? job->stage - 1 : job->stage + 1);
            EQUAL(p->ranks.list[maker->at].line, p->ranks.list[job->at].line);
            CHECK(maker->end <= job->start);
        }
        EQUAL(found, moves ? 0 : 2 * 2 * 4 * 2);
    }
}

/* Loads are skipped: the job after them has the dependency. */
static void
dependencies(void)
{
    ONE_RANK(r, p);
    OK(pipeline_job(p, "F", 0, 0, 0, 10));
    OK(fd_pipeline_add_rank(
        p, &(fd_pipe_rank){.rank = 1, .position = -1, .data = -1}));
    OK(pipeline_job(p, "LM", 1, 0, 12, 13));
    OK(pipeline_job(p, "F", 1, 0, 13, 20));
    OK(pipeline_job(p, "OPT", 1, -1, 20, 21));
    REPORT(r);
    fd_pipe_dependency dependency =
        fd_pipeline_dependency(p, r.idle.producers, 1, 4);
    EQUAL(dependency.rank, 0);
    EQUAL(dependency.time, 10);
    EQUAL(fd_pipeline_dependency(p, r.idle.producers, 3, 4).rank,
          FD_NO_PIPE_JOB);
    EQUAL(r.idle.shares[1].parts[FD_PART_WARM_UP], 10);
    EQUAL(r.idle.shares[1].parts[FD_PART_LAUNCH], 2);
}

static void
same_calls(void)
{
    fd_pipe_job a = {.start = 1, .end = 2, .flags = FD_PIPE_FUSED};
    fd_pipe_job b = a;
    CHECK(fd_pipeline_is_same_call(&a, &b));
    b.end = 3;
    CHECK(!fd_pipeline_is_same_call(&a, &b));
    b = (fd_pipe_job){.start = 1, .end = 2};
    CHECK(!fd_pipeline_is_same_call(&a, &b));
}

RUN(TEST(producers), TEST(dependencies), TEST(same_calls))
