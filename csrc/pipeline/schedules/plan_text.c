#include "pipeline/schedules/plan_text.h"

#include "json/json_writer.h"

#include <string.h>

static bool
is_deepspeed(const fd_plan *plan)
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
    if (is_deepspeed(plan)) {
        write_steps(plan, stage, out);
    }
    else {
        write_order(plan, stage, out);
    }
}

/* Write a number, or null if it is negative. */
static void
put_number(fd_json_writer *w, const char *key, int64_t value)
{
    if (value < 0) {
        fd_json_put_null(w, key);
    }
    else {
        fd_json_put_i64(w, key, value);
    }
}

static void
write_job(const fd_plan *plan, const fd_plan_job *job, fd_json_writer *w)
{
    fd_json_begin_object(w, NULL);
    fd_json_put_text(w, "kind", fd_job_kind_name((fd_job_kind)job->kind));
    put_number(w, "stage", job->stage);
    put_number(w, "chunk", job->stage / (int32_t)plan->stages);
    put_number(w, "mb", job->micro_batch);
    put_number(w, "buffer", job->buffer);
    put_number(w, "peer", job->peer);
    fd_json_end_object(w);
}

static void
write_stage(const fd_plan *plan, uint32_t stage, fd_json_writer *w)
{
    uint32_t at = plan->first[stage];
    uint32_t end = plan->first[stage + 1];
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    fd_json_put_u64(w, "stage", stage);
    put_number(w, "buffers", plan->buffers[stage]);
    fd_buffer *table = fd_json_put(w, "table");
    fd_buffer_text(table, "\"");
    fd_plan_table(plan, stage, table);
    fd_buffer_text(table, "\"");
    fd_json_begin_array(w, "steps");
    for (uint32_t step = 0; step < plan->steps; step++) {
        fd_json_begin_array(w, NULL);
        while (at < end && plan->jobs.list[at].step == (int32_t)step) {
            write_job(plan, &plan->jobs.list[at++], w);
        }
        fd_json_end_array(w);
    }
    fd_json_end_array(w);
    fd_json_end_object(w);
}

void
fd_plan_json(const fd_plan *plan, const char *figures, fd_buffer *out)
{
    fd_json_writer w = {.to = out};
    bool grouped = plan->schedule == FD_SCHEDULE_INTERLEAVED;
    fd_json_begin_object(&w, NULL);
    fd_json_put_text(&w, "schema", "fastdispatch-plan/1");
    fd_json_put_text(&w, "schedule", fd_schedule_name(plan->schedule));
    put_number(&w, "stages", plan->stages);
    put_number(&w, "micro_batches", plan->micro_batches);
    put_number(&w, "chunks", plan->chunks);
    put_number(&w, "group", grouped ? (int64_t)plan->group : -1);
    put_number(&w, "steps", plan->steps);
    fd_json_put_raw(&w, "figures", figures, strlen(figures));
    fd_json_line(&w);
    fd_json_begin_array(&w, "plan");
    for (uint32_t i = 0; i < plan->stages; i++) {
        write_stage(plan, i, &w);
    }
    fd_json_line(&w);
    fd_json_end_array(&w);
    fd_json_end_object(&w);
}
