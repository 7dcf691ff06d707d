#include "check.h"
#include "pipelines.h"

#include "pipeline/report/pipeline_clocks.h"

enum { MS = 1000000 };

/* Clocks with an offset of 5 ms in both directions: found within the reported
 * bound, which is at most the time of a transfer in both directions. */
static void
found_within_their_bounds(void)
{
    static const int64_t skew[] = {0, 5 * MS, -5 * MS, 3 * MS};
    REPORTED(r, .schedule = "deepspeed-train", .stages = 4, .micro_batches = 8,
             .transfer = 1, .moves = true, .iterations = 2, .skew = skew);
    for (uint32_t i = 0; i < 4; i++) {
        const fd_pipe_rank *rank = &r.pipeline.ranks.list[i];
        int64_t wrong = rank->moved + skew[i];
        CHECK(rank->unsure >= 0 && rank->unsure <= 4 * MS);
        CHECK(wrong <= rank->unsure && -wrong <= rank->unsure);
    }
    EQUAL(r.early, 0);
    EQUAL(r.schedule.known, true);
}

/* One direction says nothing: unknown it stays, and nothing is moved. */
static void
one_direction_bounds_nothing(void)
{
    static const int64_t skew[] = {0, 50 * MS};
    REPORTED(r, .schedule = "deepspeed-inference", .stages = 2,
             .micro_batches = 4, .moves = true, .skew = skew);
    EQUAL(r.pipeline.ranks.list[0].unsure, 0);
    EQUAL(r.pipeline.ranks.list[1].unsure, -1);
    EQUAL(r.pipeline.ranks.list[1].moved, 0);
}

static void
known_ones_stay(void)
{
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    CLEAN(fd_pipe_matches_clear) fd_pipe_matches found = {.matched = 0};
    for (uint32_t rank = 0; rank < 2; rank++) {
        OK(fd_pipeline_add_rank(
            &p, &(fd_pipe_rank){
                    .rank = rank, .position = -1, .data = -1, .unsure = 7}));
        OK(rank == 0 ? pipeline_job(&p, "SA", 0, 0, 10, 12)
                     : pipeline_job(&p, "RA", 1, 0, 4, 5));
    }
    OK(fd_pipeline_settle(&p));
    OK(fd_pipeline_match(&found, &p));
    OK(fd_pipeline_clocks(&p));
    EQUAL(p.jobs.list[1].start, 4);
    EQUAL(p.ranks.list[1].unsure, 7);
    EQUAL(fd_pipeline_early(&p), 1);
}

RUN(TEST(found_within_their_bounds), TEST(one_direction_bounds_nothing),
    TEST(known_ones_stay))
