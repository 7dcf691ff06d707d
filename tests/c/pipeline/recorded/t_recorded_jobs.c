#include "check.h"
#include "fixtures.h"

#include "pipeline/recorded/recorded_jobs.h"

static fd_status
job_of(fd_trace *trace, fd_trace_rank *rank, const char *kind,
       fd_trace_job job)
{
    fd_status status = fixture_text(trace, kind, &job.kind);
    return status == FD_OK ? fd_vector_push(&rank->jobs, job) : status;
}

/* forward 10 .. 20, on the GPU 12 .. 30; an evaluation; the iteration; one of
 * no kind; a receive that is open. */
static fd_status
make(fd_trace *trace)
{
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    if (rank == NULL) {
        return FD_ENOMEM;
    }
    rank->rank = 3;
    rank->state = FD_STATE_STOPPED;
    const struct {
        const char *kind;
        fd_trace_job job;
    } jobs[] = {
        {"ITER", {.start = 0, .duration = 100, .iteration = 6}},
        {"forward",
         {.start = 10,
          .duration = 10,
          .gpu_start = 12,
          .gpu_duration = 18,
          .step = 9,
          .iteration = 6,
          .micro_batch = 3,
          .stage = 2,
          .buffer = 1}},
        {"F",
         {.start = 21,
          .duration = 1,
          .flags = FD_JOB_EVAL,
          .gpu_duration = 1}},
        {"UNSHARD", {.start = 22, .duration = 1, .step = 5}},
        {"RG",
         {.start = 40,
          .duration = 9,
          .bytes = 64,
          .step = 5,
          .micro_batch = 1,
          .open = true,
          .flags = FD_JOB_OPEN | FD_JOB_POSTED | FD_JOB_FUSED}},
    };
    fd_status status = FD_OK;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs && status == FD_OK;
         i++) {
        status = job_of(trace, rank, jobs[i].kind, jobs[i].job);
    }
    return status;
}

ABSORBS(jobs_of_a_rank)
{
    NEW_TRACE(trace);
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    OK(make(trace));
    fd_pipe_known known = {.position = 1,
                           .data = -1,
                           .model = -1,
                           .unsure = 4,
                           .clock = {.offset_ns = 1000}};
    OK(fd_pipe_read(&p, trace, &known));
    FIELDS(&p.ranks, (count, 1), (list[0].rank, 3), (list[0].open, 1),
           (list[0].unsure, 4));
    CHECK(!p.ranks.list[0].killed);
    FIELDS(&p, (evals, 1), (unknown, 1), (jobs.count, 3));
    const fd_pipe_job *forward = &p.jobs.list[0];
    FIELDS(forward, (start, 1012), (end, 1030), (iteration, 5),
           (micro_batch, 2), (stage, 1), (buffer, 0), (row, 1));
    FIELDS(&p.jobs, (list[1].kind, FD_PIPE_OTHER), (list[1].stage, 1),
           (list[2].flags, FD_PIPE_OPEN | FD_PIPE_POSTED | FD_PIPE_FUSED),
           (list[2].bytes, 64));
}

ABSORBS(a_trace_without_jobs)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_pipe_clear) fd_pipe p = {.lines = 0};
    fd_pipe_known known = {.position = -1};
    OK(fd_pipe_read(&p, trace, &known));
    EQUAL(p.ranks.count, 0);
}
