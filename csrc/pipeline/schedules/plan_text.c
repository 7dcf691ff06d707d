#include "pipeline/schedules/plan_text.h"

static bool
deepspeed(const fd_plan *plan)
{
    return plan->schedule <= FD_SCHEDULE_DEEPSPEED_DP;
}

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
    if (deepspeed(plan)) {
        write_steps(plan, stage, out);
    }
    else {
        write_order(plan, stage, out);
    }
}

/* A member whose value is a number, null for what is negative. */
static void
member(fd_buffer *out, const char *before, int64_t value)
{
    fd_buffer_text(out, before);
    if (value < 0) {
        fd_buffer_bytes(out, "null", 4);
    }
    else {
        fd_buffer_u64(out, (uint64_t)value);
    }
}

static void
write_job(const fd_plan *plan, const fd_plan_job *job, fd_buffer *out)
{
    fd_buffer_text(out, "{\"kind\":\"");
    fd_buffer_text(out, fd_job_kind_name((fd_job_kind)job->kind));
    member(out, "\",\"stage\":", job->stage);
    member(out, ",\"chunk\":", job->stage / (int32_t)plan->stages);
    member(out, ",\"mb\":", job->micro_batch);
    member(out, ",\"buffer\":", job->buffer);
    member(out, ",\"peer\":", job->peer);
    fd_buffer_bytes(out, "}", 1);
}

static void
write_stage(const fd_plan *plan, uint32_t stage, fd_buffer *out)
{
    fd_buffer_text(out, stage > 0 ? ",\n{\"stage\":" : "\n{\"stage\":");
    fd_buffer_u64(out, stage);
    member(out, ",\"buffers\":", plan->buffers[stage]);
    fd_buffer_text(out, ",\"table\":\"");
    fd_plan_table(plan, stage, out);
    fd_buffer_text(out, "\",\"steps\":[");
    uint32_t at = plan->first[stage];
    uint32_t end = plan->first[stage + 1];
    for (uint32_t step = 0; step < plan->steps; step++) {
        fd_buffer_text(out, step > 0 ? ",[" : "[");
        const char *between = "";
        while (at < end && plan->jobs.list[at].step == (int32_t)step) {
            fd_buffer_text(out, between);
            write_job(plan, &plan->jobs.list[at++], out);
            between = ",";
        }
        fd_buffer_text(out, "]");
    }
    fd_buffer_text(out, "]}");
}

void
fd_plan_json(const fd_plan *plan, const char *figures, fd_buffer *out)
{
    fd_buffer_text(out, "{\"schema\":\"fastdispatch-plan/1\",\"schedule\":\"");
    fd_buffer_text(out, fd_schedule_name(plan->schedule));
    fd_buffer_text(out, "\"");
    member(out, ",\"stages\":", plan->stages);
    member(out, ",\"micro_batches\":", plan->micro_batches);
    member(out, ",\"chunks\":", plan->chunks);
    bool grouped = plan->schedule == FD_SCHEDULE_INTERLEAVED;
    member(out, ",\"group\":", grouped ? (int64_t)plan->group : -1);
    member(out, ",\"steps\":", plan->steps);
    fd_buffer_text(out, ",\"figures\":");
    fd_buffer_text(out, figures);
    fd_buffer_text(out, ",\n\"plan\":[");
    for (uint32_t i = 0; i < plan->stages; i++) {
        write_stage(plan, i, out);
    }
    fd_buffer_text(out, "\n]}");
}
