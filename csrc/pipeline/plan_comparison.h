/* What a stage did in one iteration, next to what its plan says.
 *
 * DeepSpeed carries out its plan instruction by instruction: the two lists are
 * equal. Other engines post transfers beside the work, so there computations
 * must come in the plan's order, and the transfers of each direction at each
 * global stage in theirs. Loads, reductions and optimizer steps of those are
 * no part of their plans. I and W of one micro-batch right after each other
 * are B. */
#ifndef FD_PLAN_COMPARISON_H
#define FD_PLAN_COMPARISON_H

#include "pipeline/schedules/schedule_plan.h"

/* What ran; numbers that are not known are -1. */
typedef struct fd_executed {
    uint8_t kind;   /* fd_job_kind */
    bool unplanned; /* set by fd_executed_compare */
    int16_t stage;  /* global */
    int32_t micro_batch;
    int32_t buffer;
} fd_executed;

/* Mark what the plan of `stage` does not have there; `text` becomes one line
 * about the first difference, "" without. Which ones are marked after the
 * first of a kind is a matter of alignment: what agrees again counts as
 * planned. */
fd_status fd_executed_compare(fd_executed *jobs, uint32_t count,
                              const fd_plan *plan, uint32_t stage, char *text,
                              size_t room);

#endif
