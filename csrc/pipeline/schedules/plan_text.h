/* Plans as people and programs read them. */
#ifndef FD_PLAN_TEXT_H
#define FD_PLAN_TEXT_H

#include "base/buffer.h"
#include "pipeline/schedules/schedule_plan.h"

/* What a stage does, on one line. DeepSpeed's with transfers, steps apart and
 * the numbers of buffers: "LM0 F0|SA0|-"; others the computations alone, with
 * micro-batches, and the global stage before them where a stage has several:
 * "F0 F1 B0" or "0F0 2F0 2B0". */
void fd_plan_table(const fd_plan *plan, uint32_t stage, fd_buffer *out);

/* docs/reference/schemas/pipeline-plan.schema.json; `figures` is the JSON of
 * that member. */
void fd_plan_json(const fd_plan *plan, const char *figures, fd_buffer *out);

#endif
