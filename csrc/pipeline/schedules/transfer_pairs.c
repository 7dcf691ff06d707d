#include "pipeline/schedules/transfer_pairs.h"

/* Gradients after activations; a plan is bounded, so this fits. */
static size_t
slot_of(const fd_plan *plan, const fd_plan_job *job)
{
    bool gradient = job->kind == FD_JOB_SG || job->kind == FD_JOB_RG;
    size_t lower = (size_t)(job->stage < job->peer ? job->stage : job->peer);
    size_t slot = gradient ? fd_plan_globals(plan) + lower : lower;
    return slot * plan->micro_batches + (size_t)job->micro_batch;
}

static fd_status
alone(const fd_plan_job *job, const char *what, fd_error *error)
{
    return fd_fail(error, FD_EINVAL, "%s of micro-batch %d on stage %d has %s",
                   fd_job_kind_name((fd_job_kind)job->kind), job->micro_batch,
                   job->stage, what);
}

static fd_status
pair(uint32_t *others, uint32_t none, const fd_plan *plan, uint32_t *ends,
     fd_error *error)
{
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        others[i] = none;
        if (!fd_job_is_transfer((fd_job_kind)job->kind)) {
            continue;
        }
        uint32_t *end = &ends[slot_of(plan, job)];
        if (*end == 0) {
            *end = i + 1;
            continue;
        }
        const fd_plan_job *other = &plan->jobs.list[*end - 1];
        if (others[*end - 1] != none || other->kind == job->kind) {
            return alone(job, "its like", error);
        }
        others[i] = *end - 1;
        others[*end - 1] = i;
    }
    return FD_OK;
}

fd_status
fd_pairs_find(uint32_t *others, uint32_t none, const fd_plan *plan,
              fd_error *error)
{
    size_t slots = 2 * (size_t)fd_plan_globals(plan) * plan->micro_batches;
    uint32_t *ends = fd_calloc(slots, sizeof *ends);
    if (ends == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = pair(others, none, plan, ends, error);
    for (size_t i = 0; i < slots && status == FD_OK; i++) {
        if (ends[i] != 0 && others[ends[i] - 1] == none) {
            status =
                alone(&plan->jobs.list[ends[i] - 1], "no other end", error);
        }
    }
    fd_free(ends);
    return status;
}
