#include "pipeline/recorded/recorded_jobs.h"

/* Return whether the times of a rank's computations are those of its GPU. */
static bool
is_on_gpu(const fd_trace *trace, const fd_trace_rank *rank)
{
    bool some = false;
    for (uint32_t i = 0; i < rank->jobs.count; i++) {
        const fd_trace_job *job = &rank->jobs.list[i];
        uint8_t kind = fd_pipe_kind_named(fd_trace_text(trace, job->kind));
        if (kind < FD_JOB_KINDS && fd_job_is_compute((fd_job_kind)kind)) {
            if (job->gpu_duration == 0) {
                return false;
            }
            some = true;
        }
    }
    return some;
}

/* Limit a time to a year from the start, so that sums do not overflow: later
 * times are damage. */
static int64_t
within_reason(int64_t ns)
{
    const int64_t most = INT64_C(1) << 55;
    return ns > most ? most : ns < -most ? -most : ns;
}

/* Convert a time to the common clock. */
static int64_t
common_moment(const fd_pipe_known *known, uint64_t ns)
{
    const uint64_t most = UINT64_C(1) << 55;
    return within_reason(
        fd_clock_apply(&known->clock, (int64_t)(ns > most ? most : ns)));
}

static fd_status
read_job(fd_pipe *p, const fd_trace *trace, const fd_trace_job *job,
         uint32_t row, const fd_pipe_known *known, bool gpu)
{
    uint8_t kind = fd_pipe_kind_named(fd_trace_text(trace, job->kind));
    if ((job->flags & FD_JOB_EVAL) != 0) {
        p->evals++;
        return FD_OK;
    }
    if (kind == FD_PIPE_WHOLE) {
        return FD_OK;
    }
    p->unknown += kind == FD_PIPE_OTHER;
    bool there = gpu && job->gpu_duration > 0;
    uint64_t start = there ? job->gpu_start : job->start;
    uint64_t took = there ? job->gpu_duration : job->duration;
    fd_pipe_job made = {
        .start = common_moment(known, start),
        .end = common_moment(known, start + took),
        .bytes = job->bytes,
        .row = row,
        .iteration = job->iteration != 0 ? (int32_t)job->iteration - 1
                                         : (int32_t)job->step,
        .micro_batch = (int32_t)job->micro_batch - 1,
        .stage = (int32_t)job->stage - 1,
        .peer = (int32_t)job->peer - 1,
        .buffer = (int32_t)job->buffer - 1,
        .kind = kind,
        .flags =
            (uint8_t)((job->open ? FD_PIPE_OPEN : 0)
                      | (job->flags & FD_JOB_POSTED ? FD_PIPE_POSTED : 0)
                      | (job->flags & FD_JOB_FUSED ? FD_PIPE_FUSED : 0)
                      | (job->flags & FD_JOB_EXCEPTION ? FD_PIPE_FAILED : 0)),
    };
    p->ranks.list[p->ranks.count - 1].open += job->open;
    return fd_pipeline_add_job(p, &made);
}

fd_status
fd_pipe_read_rank(fd_pipe *p, const fd_trace *trace, const fd_trace_rank *rank,
                  const fd_pipe_known *known)
{
    fd_pipe_rank made = {.rank = rank->rank,
                         .position = known->position,
                         .data = known->data,
                         .model = known->model,
                         .killed = rank->state == FD_STATE_KILLED
                                || rank->state == FD_STATE_RUNNING,
                         .moved = known->clock.offset_ns,
                         .unsure = known->unsure};
    bool gpu = is_on_gpu(trace, rank);
    if (rank->jobs.count == 0) {
        return FD_OK;
    }
    fd_status status = fd_pipeline_add_rank(p, &made);
    for (uint32_t i = 0; i < rank->jobs.count && status == FD_OK; i++) {
        status = read_job(p, trace, &rank->jobs.list[i], i, known, gpu);
    }
    return status;
}

fd_status
fd_pipe_read(fd_pipe *p, const fd_trace *trace, const fd_pipe_known *known)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        status = fd_pipe_read_rank(p, trace, &trace->ranks.list[i], &known[i]);
    }
    if (status == FD_OK) {
        fd_pipeline_settle(p);
    }
    return status;
}
