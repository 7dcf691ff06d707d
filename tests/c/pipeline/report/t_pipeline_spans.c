#include "check.h"
#include "pipelines.h"

static fd_status
reported(fd_pipe_report *r, fd_pipe_choice choice, uint32_t iterations,
         fd_error *error)
{
    pipeline_spec spec = {.schedule = "1f1b",
                          .stages = 2,
                          .micro_batches = 2,
                          .moves = true,
                          .iterations = iterations};
    fd_pipe_request request = {.choice = choice, .named = FD_SCHEDULES};
    fd_status status = pipeline_simulated(&r->pipeline, &spec);
    if (status == FD_OK && iterations == 4) {
        fd_pipe_job *job = &r->pipeline.jobs.list[r->pipeline.jobs.count - 1];
        job->flags |= FD_PIPE_OPEN; /* the last of all */
    }
    if (status == FD_OK) {
        status = fd_pipeline_settle(&r->pipeline);
    }
    return status == FD_OK ? fd_pipeline_report(r, &request, error) : status;
}

static int32_t
chosen(const fd_pipe_report *r)
{
    int32_t bits = 0;
    for (uint32_t j = 0; j < r->pipeline.iterations.count; j++) {
        bits |= r->idle.shares[j].chosen << j;
    }
    return bits;
}

/* Not the first, and not one in which something is open. */
static void
complete_iterations(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    OK(reported(&r, (fd_pipe_choice){.given = false}, 4, NULL));
    EQUAL(chosen(&r), 2 | 4);
    EQUAL(r.idle.drawn, 1);
    CHECK(!r.idle.shares[3].whole);
    CLEAN(fd_pipe_report_clear) fd_pipe_report one = {.drawn_line = 0};
    OK(reported(&one, (fd_pipe_choice){.given = false}, 1, NULL));
    EQUAL(chosen(&one), 1);
}

static void
selected_iterations(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    CLEAN(fd_pipe_report_clear) fd_pipe_report none = {.drawn_line = 0};
    fd_error error = {""};
    OK(reported(&r, (fd_pipe_choice){0, 2, true}, 3, NULL));
    EQUAL(chosen(&r), 1 | 2);
    STATUS(reported(&none, (fd_pipe_choice){7, 9, true}, 3, &error),
           FD_EINVAL);
    SAME(error.text,
         "no iteration from 7 up to 9 was recorded whole: there are 0 to 2");
}

/* A rank that waits in a receive does not begin the iteration. */
static void
from_the_first_begin(void)
{
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    fd_pipe *p = &r.pipeline;
    for (uint32_t rank = 0; rank < 2; rank++) {
        OK(fd_pipeline_add_rank(
            p, &(fd_pipe_rank){.rank = rank, .position = -1, .data = -1}));
        if (rank == 0) {
            OK(pipeline_job(p, "F", 0, 0, 50, 60));
            OK(pipeline_job(p, "SA", 0, 0, 60, 61));
        }
        else {
            OK(pipeline_job(p, "RA", 1, 0, 1, 61));
            OK(pipeline_job(p, "F", 1, 0, 61, 70));
        }
    }
    REPORT(r);
    EQUAL(r.idle.shares[0].start, 50);
    EQUAL(r.idle.shares[1].end, 70);
    EQUAL(r.idle.shares[1].parts[FD_PART_WARM_UP], 10);
    EQUAL(r.idle.shares[1].parts[FD_PART_TRANSFER], 1);
}

RUN(TEST(complete_iterations), TEST(selected_iterations),
    TEST(from_the_first_begin))
