#include "check.h"
#include "pipelines.h"

#include "pipeline/recorded/pipeline_clocks.h"
#include "pipeline/recorded/pipeline_match.h"

/* Rank 0 sends at 10 and rank 1 receives until 12 + `skew`; the gradient goes
 * back from 20 + `skew` until 23. */
static fd_status
exchanged(fd_pipe *p, fd_pipe_matches *found, int64_t unsure, int64_t skew)
{
    fd_status status = FD_OK;
    for (uint32_t rank = 0; rank < 2 && status == FD_OK; rank++) {
        int64_t ahead = rank == 0 ? 0 : skew;
        fd_pipe_rank made = {
            .rank = rank, .position = -1, .data = -1, .unsure = unsure};
        status = fd_pipeline_add_rank(p, &made);
        fd_then(status, pipeline_job(p, rank == 0 ? "SA" : "RA", (int32_t)rank,
                                     0, 10 + ahead, 12 + ahead));
        fd_then(status, pipeline_job(p, rank == 0 ? "RG" : "SG", (int32_t)rank,
                                     0, 20 + ahead, 23 + ahead));
    }
    fd_pipeline_settle(p);
    return fd_then(status, fd_pipeline_match(found, p));
}

#define EXCHANGED(p, found, unsure, skew) \
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0}; \
    CLEAN(fd_pipe_matches_clear) fd_pipe_matches found = {.matched = 0}; \
    OK(exchanged(&p, &found, unsure, skew))

/* Both directions bound the offset by the time of a transfer. */
static void
found_within_their_bounds(void)
{
    EXCHANGED(p, found, -1, 5000);
    OK(fd_pipeline_clocks(&p));
    const fd_pipe_rank *rank = &p.ranks.list[1];
    int64_t wrong = rank->moved + 5000;
    CHECK(rank->unsure >= 0 && rank->unsure <= 3);
    CHECK(wrong <= rank->unsure && -wrong <= rank->unsure);
    EQUAL(p.jobs.list[2].start, 5010 + rank->moved);
}

/* One direction says nothing: unknown it stays, and nothing is moved. */
static void
one_direction_bounds_nothing(void)
{
    EXCHANGED(p, found, -1, 50);
    p.jobs.list[1].other = p.jobs.list[3].other = FD_NO_PIPE_JOB;
    OK(fd_pipeline_clocks(&p));
    EQUAL(p.ranks.list[0].unsure, 0);
    EQUAL(p.ranks.list[1].unsure, -1);
    EQUAL(p.ranks.list[1].moved, 0);
}

static void
known_ones_stay(void)
{
    EXCHANGED(p, found, 7, -9);
    OK(fd_pipeline_check_clocks(&p, NULL));
    OK(fd_pipeline_clocks(&p));
    EQUAL(p.jobs.list[2].start, 1);
    EQUAL(p.ranks.list[1].unsure, 7);
}

static void
unknown_ones_are_refused(void)
{
    fd_error error = {""};
    EXCHANGED(p, found, -1, 0);
    STATUS(fd_pipeline_check_clocks(&p, &error), FD_EINVAL);
    SAME(error.text, "the clocks of rank 0 and rank 1 are not aligned: they"
                     " are of different hosts; omit"
                     " --require-aligned-clocks for bounds");
}

RUN(TEST(found_within_their_bounds), TEST(one_direction_bounds_nothing),
    TEST(known_ones_stay), TEST(unknown_ones_are_refused))
