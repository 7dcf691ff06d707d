#include "pipeline/schedules/schedule_plan.h"

#include <string.h>

static const struct family {
    const char *name;
    fd_plan_stage fill;
    fd_waiting waiting;
} families[FD_SCHEDULES] = {
    [FD_SCHEDULE_DEEPSPEED_TRAIN] = {"deepspeed-train",
                                     fd_plan_deepspeed_train, FD_WAIT_EACH},
    [FD_SCHEDULE_DEEPSPEED_INFERENCE] = {"deepspeed-inference",
                                         fd_plan_deepspeed_inference,
                                         FD_WAIT_EACH},
    [FD_SCHEDULE_DEEPSPEED_DP] = {"deepspeed-dp", fd_plan_deepspeed_dp,
                                  FD_WAIT_EACH},
    [FD_SCHEDULE_GPIPE] = {"gpipe", fd_plan_gpipe, FD_WAIT_TOGETHER},
    [FD_SCHEDULE_1F1B] = {"1f1b", fd_plan_1f1b, FD_WAIT_TOGETHER},
    [FD_SCHEDULE_INTERLEAVED] = {"interleaved", fd_plan_interleaved,
                                 FD_WAIT_NEVER},
    [FD_SCHEDULE_ZB_H1] = {"zb-h1", fd_plan_zb_h1, FD_WAIT_TOGETHER},
    [FD_SCHEDULE_ZB_V] = {"zb-v", fd_plan_zb_v, FD_WAIT_NEVER},
};

const char *
fd_schedule_name(fd_schedule schedule)
{
    return families[schedule].name;
}

fd_schedule
fd_schedule_named(const char *name)
{
    int at = 0;
    while (at < FD_SCHEDULES && strcmp(families[at].name, name) != 0) {
        at++;
    }
    return (fd_schedule)at;
}

uint32_t
fd_plan_holder(const fd_plan *plan, uint32_t global)
{
    uint32_t index = global % plan->stages;
    bool back = plan->schedule == FD_SCHEDULE_ZB_V && global >= plan->stages;
    return back ? plan->stages - 1 - index : index;
}

static fd_status
set_chunks(fd_plan *plan, uint32_t chunks, fd_error *error)
{
    const char *name = fd_schedule_name(plan->schedule);
    plan->chunks = chunks == 0 ? 1 : chunks;
    if (plan->schedule == FD_SCHEDULE_INTERLEAVED) {
        if (plan->chunks < 2) {
            return fd_fail(error, FD_EINVAL,
                           "interleaved needs at least 2 chunks per stage");
        }
        return FD_OK;
    }
    /* Engines without chunks state 1. */
    if (plan->schedule == FD_SCHEDULE_ZB_V && plan->chunks <= 2) {
        plan->chunks = 2;
    }
    uint32_t required = plan->schedule == FD_SCHEDULE_ZB_V ? 2 : 1;
    if (plan->chunks != required) {
        return fd_fail(error, FD_EINVAL, "%s has %u chunk%s per stage, not %u",
                       name, required, required == 1 ? "" : "s", plan->chunks);
    }
    return FD_OK;
}

/* Set the size of groups. Megatron requires at least `stages`, the default;
 * PyTorch divides the micro-batches by the number of complete rounds. Both are
 * equal where both are valid. */
static fd_status
set_group(fd_plan *plan, uint32_t group, fd_error *error)
{
    uint32_t count = plan->micro_batches;
    if (plan->schedule != FD_SCHEDULE_INTERLEAVED) {
        plan->group = count;
        return group == 0
                 ? FD_OK
                 : fd_fail(error, FD_EINVAL,
                           "%s has no groups of micro-batches; interleaved"
                           " has",
                           fd_schedule_name(plan->schedule));
    }
    if (group == 0) {
        uint32_t rounds = count < plan->stages ? 1 : count / plan->stages;
        plan->group = count / rounds;
        if (count % rounds != 0) {
            return fd_fail(
                error, FD_EINVAL,
                "interleaved: %u micro-batches are not a multiple of"
                " the %u rounds that %u stages make of them; give"
                " a multiple of %u, or a group",
                count, rounds, plan->stages, plan->stages);
        }
        return FD_OK;
    }
    plan->group = group;
    if (group < plan->stages || group > count) {
        return fd_fail(
            error, FD_EINVAL,
            "interleaved: a group has at least as many micro-batches"
            " as there are stages (%u) and at most all (%u), not"
            " %u",
            plan->stages, count, group);
    }
    if (count % group != 0 && count % group < plan->stages) {
        return fd_fail(
            error, FD_EINVAL,
            "interleaved: the last group would have %u micro-batches,"
            " less than the %u stages",
            count % group, plan->stages);
    }
    return FD_OK;
}

static uint64_t
steps_of(const fd_plan *plan)
{
    uint64_t count = plan->micro_batches;
    switch (plan->schedule) {
    case FD_SCHEDULE_DEEPSPEED_TRAIN:
        return 2 * (count + plan->stages - 1);
    case FD_SCHEDULE_DEEPSPEED_INFERENCE:
        return count + plan->stages - 1;
    case FD_SCHEDULE_DEEPSPEED_DP:
        return count;
    case FD_SCHEDULE_ZB_H1:
    case FD_SCHEDULE_ZB_V:
        return 3 * count * plan->chunks;
    case FD_SCHEDULE_GPIPE:
    case FD_SCHEDULE_1F1B:
    case FD_SCHEDULE_INTERLEAVED:
    case FD_SCHEDULES:
        break;
    }
    return 2 * count * plan->chunks;
}

static fd_status
set_numbers(fd_plan *plan, const fd_plan_request *request, fd_error *error)
{
    plan->schedule = request->schedule;
    plan->waiting = families[plan->schedule].waiting;
    plan->stages = request->stages;
    plan->micro_batches = request->micro_batches;
    if (plan->stages == 0 || plan->micro_batches == 0) {
        return fd_fail(error, FD_EINVAL,
                       "a pipeline has at least one stage and one micro-batch,"
                       " not %u and %u",
                       plan->stages, plan->micro_batches);
    }
    fd_status status = set_chunks(plan, request->chunks, error);
    if (status != FD_OK) {
        return status;
    }
    /* At most 7 jobs per micro-batch and global stage, and 3 at the end. */
    uint64_t globals = (uint64_t)plan->stages * plan->chunks;
    if (globals > INT16_MAX || globals * 7 * plan->micro_batches > FD_PLAN_MOST
        || plan->stages * steps_of(plan) > FD_PLAN_MOST) {
        return fd_fail(error, FD_EINVAL,
                       "%u stages of %u chunks with %u micro-batches are too"
                       " many: at most %d chunks, and %u jobs and steps",
                       plan->stages, plan->chunks, plan->micro_batches,
                       INT16_MAX, FD_PLAN_MOST);
    }
    plan->steps = (uint32_t)steps_of(plan);
    return set_group(plan, request->group, error);
}

uint32_t
fd_plan_in_flight(const fd_plan *plan, uint32_t stage)
{
    uint32_t now = 0;
    uint32_t most = 0;
    bool backward = false;
    for (uint32_t i = plan->first[stage]; i < plan->first[stage + 1]; i++) {
        fd_job_kind kind = (fd_job_kind)plan->jobs.list[i].kind;
        if (kind == FD_JOB_F) {
            now++;
            most = now > most ? now : most;
        }
        else if (kind == FD_JOB_B || kind == FD_JOB_W) {
            now--;
            backward = true;
        }
    }
    return backward ? most : 0;
}

fd_status
fd_plan_make(fd_plan *plan, const fd_plan_request *request, fd_error *error)
{
    *plan = (fd_plan){.first = NULL};
    fd_status status = set_numbers(plan, request, error);
    if (status != FD_OK) {
        return status;
    }
    plan->first = fd_calloc(plan->stages + 1, sizeof *plan->first);
    plan->buffers = fd_calloc(plan->stages, sizeof *plan->buffers);
    if (plan->first == NULL || plan->buffers == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < plan->stages && status == FD_OK; i++) {
        status = families[plan->schedule].fill(plan, i);
        plan->first[i + 1] = plan->jobs.count;
        if (plan->buffers[i] == 0) {
            plan->buffers[i] = fd_plan_in_flight(plan, i);
        }
    }
    return status;
}

void
fd_plan_clear(fd_plan *plan)
{
    fd_free(plan->first);
    fd_free(plan->buffers);
    fd_vector_clear(&plan->jobs);
    *plan = (fd_plan){.first = NULL};
}
