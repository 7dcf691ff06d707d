#include "plans.h"

#include "pipeline/schedules/plan_text.h"

fd_status
plan_of(fd_plan *plan, const char *schedule, uint32_t stages,
        uint32_t micro_batches)
{
    fd_plan_request request = {.schedule = fd_schedule_named(schedule),
                               .stages = stages,
                               .micro_batches = micro_batches};
    if (request.schedule == FD_SCHEDULE_INTERLEAVED) {
        request.chunks = 2;
    }
    return fd_plan_make(plan, &request, NULL);
}

const char *
plan_table(const fd_plan *plan, uint32_t stage, fd_buffer *text)
{
    text->size = 0;
    fd_plan_table(plan, stage, text);
    fd_buffer_bytes(text, "", 1);
    return text->status == FD_OK ? text->bytes : NULL;
}
