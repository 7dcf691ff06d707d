/* What the schedules share while a plan is made. Each fills the jobs of one
 * stage; the plan's numbers are set and checked, its vector is empty or ends
 * with the stage before. */
#ifndef FD_SCHEDULE_BUILDING_H
#define FD_SCHEDULE_BUILDING_H

#include "pipeline/schedules/schedule_plan.h"

typedef fd_status (*fd_plan_stage)(fd_plan *plan, uint32_t stage);

fd_status fd_plan_deepspeed_train(fd_plan *plan, uint32_t stage);
fd_status fd_plan_deepspeed_inference(fd_plan *plan, uint32_t stage);
fd_status fd_plan_deepspeed_dp(fd_plan *plan, uint32_t stage);
fd_status fd_plan_gpipe(fd_plan *plan, uint32_t stage);
fd_status fd_plan_1f1b(fd_plan *plan, uint32_t stage);
fd_status fd_plan_interleaved(fd_plan *plan, uint32_t stage);
fd_status fd_plan_zb_h1(fd_plan *plan, uint32_t stage);
fd_status fd_plan_zb_v(fd_plan *plan, uint32_t stage);

/* A computation as a step of its own: after the receive of what it needs and
 * before the send of what it makes, where the other end is another stage. */
fd_status fd_plan_compute(fd_plan *plan, uint32_t *step, fd_job_kind kind,
                          uint32_t global, uint32_t micro_batch);

static inline uint32_t
fd_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#endif
