#include "pipeline/schedules/plan_text.h"

static void
write_steps(const fd_plan *plan, uint32_t stage, fd_buffer *out)
{
    uint32_t at = plan->first[stage];
    uint32_t end = plan->first[stage + 1];
    for (uint32_t step = 0; step < plan->steps; step++) {
        const char *between = step > 0 ? "|" : "";
        if (at == end || plan->jobs.list[at].step != (int32_t)step) {
            fd_buffer_text(out, between);
            fd_buffer_text(out, "-");
        }
        while (at < end && plan->jobs.list[at].step == (int32_t)step) {
            const fd_plan_job *job = &plan->jobs.list[at++];
            fd_buffer_text(out, between);
            fd_buffer_text(out, fd_job_kind_name((fd_job_kind)job->kind));
            if (job->buffer >= 0) {
                fd_buffer_u64(out, (uint64_t)job->buffer);
            }
            between = " ";
        }
    }
}

static void
write_order(const fd_plan *plan, uint32_t stage, fd_buffer *out)
{
    const char *between = "";
    for (uint32_t i = plan->first[stage]; i < plan->first[stage + 1]; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (!fd_job_is_compute((fd_job_kind)job->kind)) {
            continue;
        }
        fd_buffer_text(out, between);
        if (plan->chunks > 1) {
            fd_buffer_u64(out, (uint64_t)job->stage);
        }
        fd_buffer_text(out, fd_job_kind_name((fd_job_kind)job->kind));
        fd_buffer_u64(out, (uint64_t)job->micro_batch);
        between = " ";
    }
}

void
fd_plan_table(const fd_plan *plan, uint32_t stage, fd_buffer *out)
{
    if (plan->schedule <= FD_SCHEDULE_DEEPSPEED_DP) {
        write_steps(plan, stage, out);
    }
    else {
        write_order(plan, stage, out);
    }
}
