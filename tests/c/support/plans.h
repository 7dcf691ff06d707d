/* Plans for tests. */
#ifndef PLANS_H
#define PLANS_H

#include "check.h"

#include "base/buffer.h"
#include "pipeline/schedules/schedule_plan.h"

/* The plan of a schedule, with 2 chunks per stage if the schedule has
 * chunks. */
fd_status plan_of(fd_plan *plan, const char *schedule, uint32_t stages,
                  uint32_t micro_batches);

/* Declare such a plan, which the end of the test clears. */
#define PLAN(plan, schedule, stages, micro_batches) \
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL}; \
    OK(plan_of(&plan, schedule, stages, micro_batches))

/* The table of a stage as a string, in the buffer. */
const char *plan_table(const fd_plan *plan, uint32_t stage, fd_buffer *text);

/* Checks the table of each stage of a plan. */
#define TABLES(schedule, count, batches, ...) \
    do { \
        CLEAN(fd_buffer_clear) fd_buffer text_ = {.bytes = NULL}; \
        static const char *const lines_[] = {__VA_ARGS__}; \
        PLAN(plan_, schedule, count, batches); \
        for (uint32_t at_ = 0; at_ < plan_.stages; at_++) { \
            const char *got_ = plan_table(&plan_, at_, &text_); \
            OK(text_.status); \
            SAME(got_, lines_[at_]); \
        } \
    } while (0)

#endif
