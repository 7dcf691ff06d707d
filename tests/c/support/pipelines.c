#include "pipelines.h"

#include "plans.h"

enum { APART = 1000 };

static void
price(int64_t *times, const fd_plan *plan, const pipeline_spec *spec)
{
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        int64_t forward =
            spec->forward == NULL ? 10 : spec->forward[job->stage];
        int64_t time = 0;
        switch (job->kind) {
        case FD_JOB_F:
        case FD_JOB_I:
        case FD_JOB_W:
            time = forward;
            break;
        case FD_JOB_B:
            time = 2 * forward;
            break;
        case FD_JOB_RA:
        case FD_JOB_RG:
            time = spec->transfer;
            break;
        default:
            break;
        }
        times[i] = time * PIPELINE_UNIT;
    }
}

static fd_status
add_stage(fd_pipe *p, const fd_plan *plan, const fd_replay *replay,
          uint32_t stage, const pipeline_spec *spec)
{
    uint32_t count = spec->iterations == 0 ? 1 : spec->iterations;
    int64_t skew = spec->skew == NULL ? 0 : spec->skew[stage];
    uint32_t row = 0;
    fd_status status = FD_OK;
    for (uint32_t n = 0; n < count; n++) {
        int64_t since = (replay->makespan + APART * PIPELINE_UNIT) * n + skew;
        for (uint32_t i = plan->first[stage];
             i < plan->first[stage + 1] && status == FD_OK; i++) {
            const fd_plan_job *job = &plan->jobs.list[i];
            if (!spec->moves && fd_job_is_transfer((fd_job_kind)job->kind)) {
                continue;
            }
            fd_pipe_job made = {.start = replay->begin[i] + since,
                                .end = replay->end[i] + since,
                                .row = row++,
                                .iteration = (int32_t)n,
                                .micro_batch = job->micro_batch,
                                .stage = job->stage,
                                .peer = job->peer,
                                .buffer = job->buffer,
                                .bytes = 100,
                                .kind = job->kind};
            if ((spec->transfer == 0 || spec->posts) && fd_pipe_sends(&made)) {
                made.flags = FD_PIPE_POSTED;
                made.end = made.start;
            }
            status = fd_pipeline_add_job(p, &made);
        }
    }
    return status;
}

static fd_status
add_all(fd_pipe *p, const fd_plan *plan, const fd_replay *replay,
        const pipeline_spec *spec)
{
    uint32_t lines = spec->lines == 0 ? 1 : spec->lines;
    fd_status status = FD_OK;
    for (uint32_t stage = 0; stage < plan->stages; stage++) {
        for (uint32_t line = 0; line < lines && status == FD_OK; line++) {
            if ((int32_t)stage + 1 == spec->absent) {
                continue;
            }
            fd_pipe_rank rank = {.rank = stage * lines + line,
                                 .position = -1,
                                 .data = -1,
                                 .model = -1,
                                 .unsure = spec->skew == NULL ? 0 : -1};
            status = fd_pipeline_add_rank(p, &rank);
            if (status == FD_OK) {
                status = add_stage(p, plan, replay, stage, spec);
            }
        }
    }
    return status;
}

static fd_status
replay_of(fd_replay *replay, const fd_plan *plan, const int64_t *times,
          const pipeline_spec *spec)
{
    if (!spec->posts) {
        return fd_replay_run(replay, plan, times, spec->transfer > 0, NULL);
    }
    bool *posted = fd_calloc(plan->jobs.count, sizeof *posted);
    for (uint32_t i = 0; posted != NULL && i < plan->jobs.count; i++) {
        posted[i] = true;
    }
    fd_status status =
        posted == NULL
            ? FD_ENOMEM
            : fd_replay_run_posted(replay, plan, times, posted, NULL);
    fd_free(posted);
    return status;
}

fd_status
pipeline_simulated(fd_pipe *p, const pipeline_spec *spec)
{
    fd_plan plan = {.first = NULL};
    fd_replay replay = {.begin = NULL};
    int64_t *times = NULL;
    fd_status status =
        plan_of(&plan, spec->schedule, spec->stages, spec->micro_batches);
    if (status == FD_OK) {
        times = fd_calloc(plan.jobs.count, sizeof *times);
        status = times == NULL ? FD_ENOMEM : FD_OK;
    }
    if (status == FD_OK) {
        price(times, &plan, spec);
        status = replay_of(&replay, &plan, times, spec);
    }
    if (status == FD_OK) {
        status = add_all(p, &plan, &replay, spec);
    }
    fd_replay_clear(&replay);
    fd_plan_clear(&plan);
    fd_free(times);
    return status;
}

fd_status
pipeline_reported(fd_pipe_report *report, const pipeline_spec *spec,
                  fd_schedule named)
{
    fd_pipe_request request = {.named = named};
    fd_status status = pipeline_simulated(&report->pipeline, spec);
    if (status == FD_OK) {
        status = fd_pipeline_settle(&report->pipeline);
    }
    return status == FD_OK ? fd_pipeline_report(report, &request, NULL)
                           : status;
}

fd_status
pipeline_job(fd_pipe *p, const char *kind, int32_t stage, int32_t micro_batch,
             int64_t start, int64_t end)
{
    return fd_pipeline_add_job(
        p, &(fd_pipe_job){.start = start,
                          .end = end,
                          .row = p->jobs.count,
                          .micro_batch = micro_batch,
                          .stage = stage,
                          .peer = -1,
                          .buffer = -1,
                          .kind = fd_pipe_kind_named(kind)});
}

const fd_pipe_job *
pipeline_find(const fd_pipe *p, const char *kind, int32_t stage,
              int32_t micro_batch)
{
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        if (job->kind == fd_pipe_kind_named(kind) && job->stage == stage
            && job->micro_batch == micro_batch) {
            return job;
        }
    }
    return NULL;
}
