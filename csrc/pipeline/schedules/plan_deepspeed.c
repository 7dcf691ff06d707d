/* The schedules of deepspeed/runtime/pipe/schedule.py, the same since 0.8.3.
 * In a training step t of stage s, F(m) is at t = 2m + s and B(m) at t = 2m +
 * 2S - 1 - s; the two never share a step. */
#include "pipeline/schedules/schedule_plan.h"

/* A stage under construction. */
typedef struct filling {
    fd_plan *plan;
    int32_t stage;
    int32_t step;
} filling;

static fd_status
add_job(const filling *to, fd_job_kind kind, int32_t micro_batch,
        int32_t buffer)
{
    int32_t peer = -1;
    if (kind == FD_JOB_SA || kind == FD_JOB_RG) {
        peer = to->stage + 1;
    }
    else if (kind == FD_JOB_RA || kind == FD_JOB_SG) {
        peer = to->stage - 1;
    }
    fd_plan_job job = {.step = to->step,
                       .micro_batch = micro_batch,
                       .buffer = buffer,
                       .stage = (int16_t)to->stage,
                       .peer = (int16_t)peer,
                       .kind = (uint8_t)kind};
    return fd_vector_push(&to->plan->jobs, job);
}

/* Add a job if its micro-batch and its peer stage exist. */
static fd_status
add_valid(const filling *to, fd_job_kind kind, int32_t micro_batch)
{
    const fd_plan *plan = to->plan;
    bool up = kind == FD_JOB_SA || kind == FD_JOB_RG;
    bool down = kind == FD_JOB_RA || kind == FD_JOB_SG;
    if (micro_batch < 0 || micro_batch >= (int32_t)plan->micro_batches
        || (up && to->stage + 1 == (int32_t)plan->stages)
        || (down && to->stage == 0)) {
        return FD_OK;
    }
    int32_t buffers = (int32_t)plan->buffers[to->stage];
    return add_job(to, kind, micro_batch, micro_batch % buffers);
}

/* Return whether a stage reads data: only the first and last one do, inputs
 * and labels. */
static bool
loads_data(const fd_plan *plan, uint32_t stage)
{
    return stage == 0 || stage + 1 == plan->stages;
}

static fd_status
add_end(const filling *to, bool tied)
{
    fd_status status = tied ? add_job(to, FD_JOB_RT, -1, -1) : FD_OK;
    fd_then(status, add_job(to, FD_JOB_RD, -1, -1));
    return fd_then(status, add_job(to, FD_JOB_OPT, -1, -1));
}

fd_train_step
fd_plan_train_step(uint32_t stages, uint32_t stage, uint32_t step)
{
    int32_t t = (int32_t)step;
    int32_t s = (int32_t)stage;
    bool forward = (step + stage) % 2 == 0;
    return (fd_train_step){.forward = forward,
                           .micro_batch =
                               forward ? (t - s) / 2
                                       : (t + s + 1) / 2 - (int32_t)stages};
}

fd_status
fd_plan_deepspeed_train(fd_plan *plan, uint32_t stage)
{
    plan->buffers[stage] = fd_least(plan->stages - stage, plan->micro_batches);
    if (plan->buffers[stage] < 2) {
        plan->buffers[stage] = 2;
    }
    filling to = {.plan = plan, .stage = (int32_t)stage};
    int32_t before = -1;
    fd_status status = FD_OK;
    for (uint32_t step = 0; step < plan->steps && status == FD_OK; step++) {
        fd_train_step now = fd_plan_train_step(plan->stages, stage, step);
        to.step = (int32_t)step;
        fd_job_kind kinds[4] = {FD_JOB_RG, FD_JOB_SA, FD_JOB_B, FD_JOB_KINDS};
        int32_t ids[4] = {now.micro_batch, before, now.micro_batch, -1};
        if (now.forward) {
            kinds[0] = FD_JOB_SG;
            kinds[1] = FD_JOB_RA;
            kinds[2] = loads_data(plan, stage) ? FD_JOB_LM : FD_JOB_KINDS;
            kinds[3] = FD_JOB_F;
            ids[0] = before;
            ids[1] = ids[3] = now.micro_batch;
        }
        for (int i = 0; i < 4 && status == FD_OK; i++) {
            if (kinds[i] != FD_JOB_KINDS) {
                status = add_valid(&to, kinds[i], ids[i]);
            }
        }
        before = now.micro_batch;
    }
    return fd_then(status, add_end(&to, true));
}

/* Fill an inference schedule with two buffers: one is used for computing while
 * the other is sent. The parity of the stage determines the buffer, and which
 * of two neighbours sends first. */
fd_status
fd_plan_deepspeed_inference(fd_plan *plan, uint32_t stage)
{
    plan->buffers[stage] = 2;
    filling to = {.plan = plan, .stage = (int32_t)stage};
    int32_t count = (int32_t)plan->micro_batches;
    bool odd = stage % 2 != 0;
    fd_status status = FD_OK;
    for (uint32_t step = 0; step < plan->steps && status == FD_OK; step++) {
        to.step = (int32_t)step;
        int32_t id = to.step - to.stage;
        int32_t own = (int32_t)((step + stage) % 2);
        bool computes = id >= 0 && id < count;
        bool sends = id >= 1 && id <= count && stage + 1 < plan->stages;
        if (computes && loads_data(plan, stage)) {
            status = add_job(&to, FD_JOB_LM, id, own);
        }
        for (int turn = 0; turn < 2 && status == FD_OK; turn++) {
            if ((turn == 0) == odd) {
                status = computes && stage > 0
                           ? add_job(&to, FD_JOB_RA, id, own)
                           : FD_OK;
            }
            else if (sends) {
                status = add_job(&to, FD_JOB_SA, id - 1, 1 - own);
            }
        }
        if (computes && status == FD_OK) {
            status = add_job(&to, FD_JOB_F, id, own);
        }
    }
    return status;
}

fd_status
fd_plan_deepspeed_dp(fd_plan *plan, uint32_t stage)
{
    static const fd_job_kind kinds[] = {FD_JOB_LM, FD_JOB_F, FD_JOB_B};
    plan->buffers[stage] = 1;
    filling to = {.plan = plan, .stage = (int32_t)stage};
    fd_status status = FD_OK;
    for (uint32_t step = 0; step < plan->steps && status == FD_OK; step++) {
        to.step = (int32_t)step;
        for (int i = 0; i < 3 && status == FD_OK; i++) {
            status = add_job(&to, kinds[i], to.step, 0);
        }
    }
    return fd_then(status, add_end(&to, false));
}
