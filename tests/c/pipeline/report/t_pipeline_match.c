#include "check.h"
#include "pipelines.h"

/* 2 M (G - 1) transfers of G global stages, each with both ends; those within
 * a rank are local. */
static void
each_send_has_its_receive(void)
{
    static const struct {
        const char *schedule;
        uint32_t stages, micro_batches, globals, local;
    } cases[] = {{"1f1b", 4, 8, 4, 0},
                 {"deepspeed-train", 3, 4, 3, 0},
                 {"interleaved", 2, 4, 4, 0},
                 {"zb-v", 2, 4, 4, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REPORTED(r, .schedule = cases[i].schedule, .stages = cases[i].stages,
                 .micro_batches = cases[i].micro_batches, .moves = true,
                 .iterations = 2, .lines = 2);
        uint32_t all = 4 * 2 * cases[i].micro_batches * (cases[i].globals - 1);
        uint32_t apart = r.matches.matched - r.matches.local;
        EQUAL(r.matches.alone.count, 0);
        CHECK(apart + 4 * cases[i].local == all || r.matches.matched == all);
        for (uint32_t j = 0; j < r.pipeline.jobs.count; j++) {
            const fd_pipe_job *job = &r.pipeline.jobs.list[j];
            if (fd_pipe_moves(job)) {
                const fd_pipe_job *other = &r.pipeline.jobs.list[job->other];
                EQUAL(other->other, j);
                EQUAL(other->stage, job->peer);
                EQUAL(other->iteration, job->iteration);
                EQUAL(r.pipeline.ranks.list[other->at].line,
                      r.pipeline.ranks.list[job->at].line);
            }
        }
    }
}

static fd_status
two_ranks(fd_pipe *p)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        fd_status status = fd_pipeline_add_rank(
            p, &(fd_pipe_rank){.rank = rank, .position = -1, .data = -1});
        if (status == FD_OK) {
            status = rank == 0 ? pipeline_job(p, "SA", 0, 0, 10, 20)
                               : pipeline_job(p, "RA", 1, 0, 4, 5);
        }
        if (status != FD_OK) {
            return status;
        }
    }
    return FD_OK;
}

#define TWO_RANKS(p, found) \
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0}; \
    CLEAN(fd_pipe_matches_clear) fd_pipe_matches found = {.matched = 0}; \
    OK(two_ranks(&p))
#define MATCH(p, found) \
    OK(fd_pipeline_settle(&p)); \
    OK(fd_pipeline_match(&found, &p))

/* A receive that is posted in one job and waited for in the next. */
static void
posted_and_waited_for(void)
{
    TWO_RANKS(p, found);
    p.jobs.list[1].flags = FD_PIPE_POSTED;
    OK(pipeline_job(&p, "RA", 1, 0, 6, 21));
    MATCH(p, found);
    fd_pipeline_meet(&p);
    EQUAL(found.matched, 1);
    EQUAL(found.alone.count, 0);
    EQUAL(p.jobs.list[1].other, 0);
    EQUAL(p.jobs.list[2].other, 0);
    EQUAL(p.jobs.list[0].other, 1);
    EQUAL(p.jobs.list[2].ready, 10);
    EQUAL(p.jobs.list[1].ready, 4);
    EQUAL(p.jobs.list[0].ready, 10);
    EQUAL(fd_pipe_post(&p, 2), 1);
}

/* Sent twice, received once: the second has no match. Nor has a job
 * without a micro-batch. */
static void
alone(void)
{
    TWO_RANKS(p, found);
    OK(pipeline_job(&p, "RA", 1, 0, 22, 23));
    OK(pipeline_job(&p, "RA", 1, -1, 24, 25));
    OK(pipeline_job(&p, "SG", 1, 3, 26, 27));
    MATCH(p, found);
    EQUAL(found.matched, 1);
    EQUAL(found.alone.count, 3);
    EQUAL(found.alone.list[0], 2);
    EQUAL(found.alone.list[2], 4);
    EQUAL(fd_pipe_post(&p, 4), 4);
}

/* A send that was over before its receiver came did not wait for it. */
static void
kept_for_its_receiver(void)
{
    TWO_RANKS(p, found);
    p.jobs.list[1].start = 30;
    p.jobs.list[1].end = 31;
    MATCH(p, found);
    fd_pipeline_meet(&p);
    EQUAL(p.jobs.list[0].ready, 10);
    EQUAL(p.jobs.list[1].ready, 30);
}

RUN(TEST(each_send_has_its_receive), TEST(posted_and_waited_for), TEST(alone),
    TEST(kept_for_its_receiver))
