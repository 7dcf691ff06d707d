#include "check.h"
#include "pipelines.h"

TEST(kinds_by_name_and_word)
{
    EQUAL(fd_pipe_kind_named("rt"), FD_JOB_RT);
    EQUAL(fd_pipe_kind_named("Forward"), FD_JOB_F);
    EQUAL(fd_pipe_kind_named("OPTIMIZER"), FD_JOB_OPT);
    EQUAL(fd_pipe_kind_named("ITER"), FD_PIPE_WHOLE);
    EQUAL(fd_pipe_kind_named("UNSHARD"), FD_PIPE_OTHER);
    for (uint8_t kind = 0; kind < FD_JOB_KINDS; kind++) {
        EQUAL(fd_pipe_kind_named(fd_job_kind_name((fd_job_kind)kind)), kind);
    }
}

static fd_status
add_rank(fd_pipe *p, uint32_t rank, int32_t data)
{
    return fd_pipeline_add_rank(
        p, &(fd_pipe_rank){.rank = rank, .position = -1, .data = data});
}

/* The direction of a send is known from its peer; end stages have only one. */
TEST(sends_reach_their_receives)
{
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    for (uint32_t rank = 0; rank < 3; rank++) {
        OK(add_rank(&p, rank, -1));
        OK(pipeline_job(&p, "send", (int32_t)rank, 0, 0, 1));
        OK(pipeline_job(&p, "receive", (int32_t)rank, 0, 1, 2));
        OK(pipeline_job(&p, "RG", (int32_t)rank, 0, 2, 3));
    }
    fd_pipeline_settle(&p);
    FIELDS(&p, (stages, 3), (jobs.list[0].kind, FD_JOB_SA),
           (jobs.list[0].peer, 1), (jobs.list[1].kind, FD_JOB_RG),
           (jobs.list[2].peer, 1), (jobs.list[3].kind, FD_PIPE_OTHER),
           (undirected, 2), (jobs.list[6].kind, FD_JOB_SG),
           (jobs.list[6].peer, 1), (jobs.list[8].peer, -1));
}

TEST(unnamed_stages)
{
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    for (uint32_t rank = 0; rank < 2; rank++) {
        OK(add_rank(&p, rank, -1));
        OK(pipeline_job(&p, "forward", -1, 0, 0, 1));
    }
    fd_pipeline_settle(&p);
    CHECK(p.guessed);
    FIELDS(&p, (stages, 2), (jobs.list[1].stage, 1),
           (ranks.list[1].position, 1));
}

/* Replicas: by coordinates, or by their order. */
TEST(lines)
{
    for (int known = 0; known < 2; known++) {
        CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
        for (uint32_t rank = 0; rank < 4; rank++) {
            OK(add_rank(&p, rank, known ? 1 - (int32_t)(rank % 2) : -1));
            OK(pipeline_job(&p, "F", (int32_t)(rank / 2), 0, 0, 1));
        }
        fd_pipeline_settle(&p);
        FIELDS(&p, (lines, 2), (stages, 2),
               (ranks.list[0].line, p.ranks.list[2].line),
               (ranks.list[1].line, p.ranks.list[3].line));
        CHECK(p.ranks.list[0].line != p.ranks.list[1].line);
    }
}

/* Jobs of a rank are sorted by iteration and start. */
TEST(order_in_time)
{
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    OK(add_rank(&p, 0, -1));
    OK(pipeline_job(&p, "F", 3, 1, 7, 8));
    OK(pipeline_job(&p, "F", 0, 0, 5, 6));
    OK(pipeline_job(&p, "B", 0, 0, 1, 2));
    OK(add_rank(&p, 1, -1));
    OK(pipeline_job(&p, "F", 1, 0, 0, 1));
    p.jobs.list[2].iteration = 1;
    fd_pipeline_settle(&p);
    FIELDS(&p, (chunks, 2), (globals, 4), (jobs.list[0].start, 5),
           (jobs.list[1].start, 7), (jobs.list[2].iteration, 1),
           (jobs.list[3].at, 1));
}

/* Stages out of range are ignored. */
TEST(nonsense)
{
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    OK(add_rank(&p, 0, -1));
    OK(pipeline_job(&p, "F", 1 << 20, 0, 0, 1));
    OK(pipeline_job(&p, "F", 1, 0, 0, 1));
    OK(add_rank(&p, 1, -1));
    fd_pipeline_settle(&p);
    FIELDS(&p, (globals, 2), (jobs.list[0].stage, 1),
           (ranks.list[1].position, -1));
    CLEAN(fd_pipe_clear) fd_pipe none = {.lines = 0};
    fd_pipeline_settle(&none);
    EQUAL(none.stages, 0);
}
