/* Comparison of the jobs of a stage in one iteration with its plan.
 *
 * DeepSpeed executes its plan instruction by instruction: the two lists are
 * equal. Other engines post transfers in parallel to the work: computations
 * must have the order of the plan, and so must the transfers of each direction
 * at each global stage. Plans of those engines do not contain loads,
 * reductions and optimizer steps. I directly followed by W of the same
 * micro-batch is B. */
#ifndef FD_PLAN_COMPARISON_H
#define FD_PLAN_COMPARISON_H

#include "pipeline/schedules/schedule_plan.h"

/* A recorded job; unknown numbers are -1. */
typedef struct fd_executed {
    uint8_t kind;   /* fd_job_kind */
    bool unplanned; /* set by fd_executed_compare */
    int16_t stage;  /* global */
    int32_t micro_batch;
    int32_t buffer;
} fd_executed;

/* Mark jobs that the plan of `stage` does not contain. `text` becomes one line
 * about the first difference, or "". After a difference, jobs are aligned with
 * the plan again, and equal jobs are not marked. */
fd_status fd_executed_compare(fd_executed *jobs, uint32_t count,
                              const fd_plan *plan, uint32_t stage, char *text,
                              size_t capacity);

#endif
