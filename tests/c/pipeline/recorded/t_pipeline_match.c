#include "check.h"
#include "pipelines.h"

#include "pipeline/recorded/pipeline_match.h"

static fd_status
two_ranks(fd_pipe *p)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        fd_status status = fd_pipeline_add_rank(
            p, &(fd_pipe_rank){.rank = rank, .position = -1, .data = -1});
        fd_then(status, rank == 0 ? pipeline_job(p, "SA", 0, 0, 10, 20)
                                  : pipeline_job(p, "RA", 1, 0, 4, 5));
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
    fd_pipeline_settle(&p); \
    OK(fd_pipeline_match(&found, &p))

/* A receive that is posted in one job and waited for in the next. */
TEST(posted_and_waited_for)
{
    TWO_RANKS(p, found);
    p.jobs.list[1].flags = FD_PIPE_POSTED;
    OK(pipeline_job(&p, "RA", 1, 0, 6, 21));
    MATCH(p, found);
    FIELDS(&found, (matched, 1), (alone.count, 0));
    FIELDS(&p.jobs, (list[1].other, 0), (list[2].other, 0),
           (list[0].other, 1));
}

/* Sent twice, received once: the second has no match. Nor has a job
 * without a micro-batch. */
TEST(alone)
{
    TWO_RANKS(p, found);
    OK(pipeline_job(&p, "RA", 1, 0, 22, 23));
    OK(pipeline_job(&p, "RA", 1, -1, 24, 25));
    OK(pipeline_job(&p, "SG", 1, 3, 26, 27));
    MATCH(p, found);
    FIELDS(&found, (matched, 1), (alone.count, 3), (alone.list[0], 2),
           (alone.list[2], 4));
}
