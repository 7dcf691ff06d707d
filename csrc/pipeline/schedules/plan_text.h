/* Output of plans as text. */
#ifndef FD_PLAN_TEXT_H
#define FD_PLAN_TEXT_H

#include "base/buffer.h"
#include "pipeline/schedules/schedule_plan.h"

/* Append the jobs of a stage on one line. DeepSpeed: all jobs with buffers,
 * separated by step: "LM0 F0|SA0|-". Others: computations with micro-batches,
 * after the global stage if a stage has several: "F0 F1 B0" or "0F0 2F0
 * 2B0". */
void fd_plan_table(const fd_plan *plan, uint32_t stage, fd_buffer *out);

#endif
