/* Schedules that split the backward pass, so that W fills gaps: ZB-H1 (arXiv
 * 2401.10241, 3.1) and ZB-V in PyTorch's order. */
#include "pipeline/schedules/schedule_plan.h"

/* Fill 1F1B, except that stage s executes W only s passes after its I: every
 * stage then needs as much memory as the first. The idle time of each is (S -
 * 1)(F + I - W). */
fd_status
fd_plan_zb_h1(fd_plan *plan, uint32_t stage)
{
    uint32_t count = plan->micro_batches;
    uint32_t warmup = fd_least(plan->stages - stage - 1, count);
    uint32_t late = fd_least(stage, count);
    uint32_t step = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count + warmup + late && status == FD_OK; i++) {
        if (i < count) {
            status = fd_plan_compute(plan, &step, FD_JOB_F, stage, i);
        }
        if (i >= warmup && i < count + warmup && status == FD_OK) {
            status = fd_plan_compute(plan, &step, FD_JOB_I, stage, i - warmup);
        }
        if (i >= warmup + late && status == FD_OK) {
            status = fd_plan_compute(plan, &step, FD_JOB_W, stage,
                                     i - warmup - late);
        }
    }
    return status;
}

/* A stage under construction: the number of F, I and W of each chunk,
 * including those of micro-batches that do not exist. */
typedef struct filling {
    fd_plan *plan;
    uint32_t global[2];
    uint32_t done[FD_JOB_KINDS][2];
    uint32_t step;
    fd_status status;
} filling;

static void
next_job(filling *to, fd_job_kind kind, int chunk)
{
    uint32_t micro_batch = to->done[kind][chunk]++;
    if (to->status == FD_OK && micro_batch < to->plan->micro_batches) {
        to->status = fd_plan_compute(to->plan, &to->step, kind,
                                     to->global[chunk], micro_batch);
    }
}

static void
next_backward(filling *to, int chunk)
{
    next_job(to, FD_JOB_I, chunk);
    next_job(to, FD_JOB_W, chunk);
}

static void
warm_up(filling *to, uint32_t stages, uint32_t stage)
{
    for (uint32_t i = 0; i < 2 * (stages - stage) - 1; i++) {
        next_job(to, FD_JOB_F, 0);
    }
    for (uint32_t i = 0; i < stage; i++) {
        next_job(to, FD_JOB_F, 1);
        next_job(to, FD_JOB_F, 0);
    }
    for (uint32_t i = 0; i < stages - stage; i++) {
        next_job(to, FD_JOB_F, 1);
        next_backward(to, 1);
    }
}

static void
cool_down(filling *to, uint32_t stages, uint32_t stage)
{
    for (uint32_t i = 0; i < stage; i++) {
        next_job(to, FD_JOB_I, 0);
        next_job(to, FD_JOB_I, 1);
    }
    for (uint32_t i = 0; i < stages - stage; i++) {
        next_backward(to, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--) {
        while (to->done[FD_JOB_W][chunk] < to->done[FD_JOB_I][chunk]) {
            next_job(to, FD_JOB_W, chunk);
        }
    }
}

/* Fill ZB-V. The pipeline is filled with at least 2S - 1 micro-batches;
 * missing ones leave a gap. */
fd_status
fd_plan_zb_v(fd_plan *plan, uint32_t stage)
{
    filling to = {.plan = plan,
                  .global = {stage, 2 * plan->stages - 1 - stage}};
    uint32_t count = plan->micro_batches;
    if (count < 2 * plan->stages - 1) {
        count = 2 * plan->stages - 1;
    }
    warm_up(&to, plan->stages, stage);
    const uint32_t *forwards = to.done[FD_JOB_F];
    while (forwards[1] < forwards[0] || forwards[0] < count) {
        if (forwards[0] < count) {
            next_job(&to, FD_JOB_F, 0);
        }
        next_backward(&to, 0);
        next_job(&to, FD_JOB_F, 1);
        next_backward(&to, 1);
    }
    cool_down(&to, plan->stages, stage);
    return to.status;
}
