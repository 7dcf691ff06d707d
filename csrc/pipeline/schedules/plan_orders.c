/* Schedules given by the order of their computations: GPipe, 1F1B as Megatron
 * and PyTorch have it, and Megatron's interleaved 1F1B. */
#include "pipeline/schedules/schedule_plan.h"

static fd_status
add_transfer(fd_plan *plan, uint32_t step, fd_job_kind kind, uint32_t global,
             uint32_t peer, uint32_t micro_batch)
{
    if (peer >= fd_plan_globals(plan)
        || fd_plan_holder(plan, peer) == fd_plan_holder(plan, global)) {
        return FD_OK;
    }
    fd_plan_job job = {.step = (int32_t)step,
                       .micro_batch = (int32_t)micro_batch,
                       .buffer = -1,
                       .stage = (int16_t)global,
                       .peer = (int16_t)peer,
                       .kind = (uint8_t)kind};
    return fd_vector_push(&plan->jobs, job);
}

fd_status
fd_plan_compute(fd_plan *plan, uint32_t *step, fd_job_kind kind,
                uint32_t global, uint32_t micro_batch)
{
    /* Numbers of micro-batches can be negative; these are invalid too. */
    bool forward = kind == FD_JOB_F;
    uint32_t from = forward ? global - 1 : global + 1;
    uint32_t to = forward ? global + 1 : global - 1;
    fd_plan_job job = {.step = (int32_t)*step,
                       .micro_batch = (int32_t)micro_batch,
                       .buffer = -1,
                       .stage = (int16_t)global,
                       .peer = -1,
                       .kind = (uint8_t)kind};
    uint32_t at = (*step)++;
    if (kind == FD_JOB_W) {
        return fd_vector_push(&plan->jobs, job);
    }
    fd_status status = add_transfer(plan, at, forward ? FD_JOB_RA : FD_JOB_RG,
                                    global, from, micro_batch);
    fd_then(status, fd_vector_push(&plan->jobs, job));
    return status == FD_OK
             ? add_transfer(plan, at, forward ? FD_JOB_SA : FD_JOB_SG, global,
                            to, micro_batch)
             : status;
}

fd_status
fd_plan_gpipe(fd_plan *plan, uint32_t stage)
{
    uint32_t step = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < 2 * plan->micro_batches && status == FD_OK; i++) {
        bool forward = i < plan->micro_batches;
        status = fd_plan_compute(plan, &step, forward ? FD_JOB_F : FD_JOB_B,
                                 stage, i % plan->micro_batches);
    }
    return status;
}

/* Add the k-th forward or backward pass of a stage. Each group of
 * micro-batches goes through all chunks before the next group begins. */
static fd_status
compute_kth(fd_plan *plan, uint32_t *step, fd_job_kind kind, uint32_t stage,
            uint32_t k)
{
    uint32_t base = k / (plan->group * plan->chunks) * plan->group;
    uint32_t size = fd_least(plan->group, plan->micro_batches - base);
    uint32_t within = k - base * plan->chunks;
    uint32_t chunk = within / size;
    if (kind == FD_JOB_B) {
        chunk = plan->chunks - 1 - chunk;
    }
    return fd_plan_compute(plan, step, kind, chunk * plan->stages + stage,
                           base + within % size);
}

/* Add `warmup` forward passes, then a backward pass after each further forward
 * pass, then the remaining backward passes. */
static fd_status
one_by_one(fd_plan *plan, uint32_t stage, uint32_t warmup)
{
    uint32_t count = plan->micro_batches * plan->chunks;
    uint32_t step = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count + warmup && status == FD_OK; i++) {
        if (i < count) {
            status = compute_kth(plan, &step, FD_JOB_F, stage, i);
        }
        if (i >= warmup && status == FD_OK) {
            status = compute_kth(plan, &step, FD_JOB_B, stage, i - warmup);
        }
    }
    return status;
}

fd_status
fd_plan_1f1b(fd_plan *plan, uint32_t stage)
{
    uint32_t warmup = plan->stages - stage - 1;
    return one_by_one(plan, stage, fd_least(warmup, plan->micro_batches));
}

fd_status
fd_plan_interleaved(fd_plan *plan, uint32_t stage)
{
    uint32_t warmup =
        2 * (plan->stages - stage - 1) + (plan->chunks - 1) * plan->group;
    return one_by_one(plan, stage,
                      fd_least(warmup, plan->micro_batches * plan->chunks));
}
