/* The jobs of each stage of a pipeline schedule in order, computed from the
 * name of the schedule and three numbers, without an engine.
 *
 * A stage is one process of the pipeline, 0 to stages - 1. Interleaved and
 * V-shaped schedules give each several chunks of the model. Along the model
 * chunks are numbered through as global stages; with 4 stages and 2 chunks
 *
 *     interleaved   stage  0 1 2 3 0 1 2 3      zb-v   0 1 2 3 3 2 1 0
 *     global stage         0 1 2 3 4 5 6 7             0 1 2 3 4 5 6 7
 *
 * so that the chunk of a global stage is always global / stages.
 *
 *     jobs   [ stage 0: step 0, step 1, ... ][ stage 1 ] ... [ stage S-1 ]
 *     first    ^                              ^              ^         S+1 */
#ifndef FD_SCHEDULE_PLAN_H
#define FD_SCHEDULE_PLAN_H

#include "base/vector.h"
#include "recording/job_kinds.h"

#include <stdbool.h>

typedef enum fd_schedule {
    FD_SCHEDULE_DEEPSPEED_TRAIN,
    FD_SCHEDULE_DEEPSPEED_INFERENCE,
    FD_SCHEDULE_DEEPSPEED_DP,
    FD_SCHEDULE_GPIPE,
    FD_SCHEDULE_1F1B,
    FD_SCHEDULE_INTERLEAVED,
    FD_SCHEDULE_ZB_H1,
    FD_SCHEDULE_ZB_V,
    FD_SCHEDULES
} fd_schedule;

const char *fd_schedule_name(fd_schedule schedule);

/* Return the schedule of this name, or FD_SCHEDULES. */
fd_schedule fd_schedule_named(const char *name);

/* How the engines of a schedule wait for blocking transfers. */
typedef enum fd_waiting {
    FD_WAIT_EACH,     /* for one at a time: DeepSpeed */
    FD_WAIT_TOGETHER, /* for all between two computations together */
    FD_WAIT_NEVER     /* transfers are asynchronous, or absent */
} fd_waiting;

/* Limit of the jobs, and of the steps of all stages together. */
#define FD_PLAN_MOST (1u << 24)

typedef struct fd_plan_job {
    int32_t step;        /* number within its stage, from 0 */
    int32_t micro_batch; /* -1: no micro-batch */
    int32_t buffer;      /* -1: the engine has no buffer numbers */
    int16_t stage;       /* global */
    int16_t peer;        /* global stage at the other end; -1: no transfer */
    uint8_t kind;        /* fd_job_kind */
} fd_plan_job;

typedef struct fd_plan {
    fd_schedule schedule;
    uint32_t stages;
    uint32_t micro_batches;
    uint32_t chunks; /* chunks per stage */
    uint32_t group;  /* consecutive micro-batches on a chunk */
    uint32_t steps;  /* steps of every stage; some may be empty */
    fd_waiting waiting;
    uint32_t *first; /* owned; stages + 1 indices in `jobs` */
    /* owned; per stage: DeepSpeed's num_pipe_buffers; otherwise the peak of
     * micro-batches in flight over its chunks */
    uint32_t *buffers;
    FD_VECTOR(fd_plan_job) jobs;
} fd_plan;

typedef struct fd_plan_request {
    fd_schedule schedule;
    uint32_t stages;
    uint32_t micro_batches;
    uint32_t chunks; /* 0: default of the schedule, if known */
    uint32_t group;  /* interleaved only; 0: the default of the engines */
} fd_plan_request;

/* Make a plan. FD_EINVAL: no engine runs such a plan. Clear the plan also
 * after a failure. */
fd_status fd_plan_make(fd_plan *plan, const fd_plan_request *request,
                       fd_error *error);
void fd_plan_clear(fd_plan *plan);

/* Return the stage that has a global stage. */
uint32_t fd_plan_holder(const fd_plan *plan, uint32_t global);

static inline uint32_t
fd_plan_globals(const fd_plan *plan)
{
    return plan->stages * plan->chunks;
}

/* Return the maximum number of forward passes of a stage, over its chunks,
 * before their backward pass (W if separate): their activations are in memory.
 * 0 without backward passes. */
uint32_t fd_plan_in_flight(const fd_plan *plan, uint32_t stage);

/* A step of DeepSpeed's TrainSchedule: a micro-batch, out of range if the step
 * computes nothing, and whether it is a forward pass. */
typedef struct fd_train_step {
    int32_t micro_batch;
    bool forward;
} fd_train_step;

fd_train_step fd_plan_train_step(uint32_t stages, uint32_t stage,
                                 uint32_t step);

/* For the files that fill schedules: a function adds the jobs of one stage.
 * The numbers of the plan are set and checked; its vector is empty or ends
 * with the jobs of the previous stage. */
typedef fd_status (*fd_plan_stage)(fd_plan *plan, uint32_t stage);

fd_status fd_plan_deepspeed_train(fd_plan *plan, uint32_t stage);
fd_status fd_plan_deepspeed_inference(fd_plan *plan, uint32_t stage);
fd_status fd_plan_deepspeed_dp(fd_plan *plan, uint32_t stage);
fd_status fd_plan_gpipe(fd_plan *plan, uint32_t stage);
fd_status fd_plan_1f1b(fd_plan *plan, uint32_t stage);
fd_status fd_plan_interleaved(fd_plan *plan, uint32_t stage);
fd_status fd_plan_zb_h1(fd_plan *plan, uint32_t stage);
fd_status fd_plan_zb_v(fd_plan *plan, uint32_t stage);

/* Add a computation as a step, with the receive of its input before it and the
 * send of its output after it, if the peer is another stage. */
fd_status fd_plan_compute(fd_plan *plan, uint32_t *step, fd_job_kind kind,
                          uint32_t global, uint32_t micro_batch);

static inline uint32_t
fd_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#endif
