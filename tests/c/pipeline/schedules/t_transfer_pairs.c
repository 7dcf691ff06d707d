#include "check.h"
#include "plans.h"

#include "pipeline/schedules/transfer_pairs.h"

#include "base/alloc.h"

#include <string.h>

enum { NONE = 0x7fffffff };

static void
free_list(uint32_t **list)
{
    fd_free(*list);
}

/* The first job of a kind of a micro-batch on a stage. */
static uint32_t
job_of(const fd_plan *plan, uint32_t stage, fd_job_kind kind, int32_t mb)
{
    uint32_t at = plan->first[stage];
    while (plan->jobs.list[at].kind != kind
           || plan->jobs.list[at].micro_batch != mb) {
        at++;
    }
    return at;
}

static void
each_has_one(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    OK(plan_of(&plan, "deepspeed-train", 3, 4));
    CLEAN(free_list)
    uint32_t *others = fd_malloc(plan.jobs.count * sizeof *others);
    OK(others != NULL ? FD_OK : FD_ENOMEM);
    OK(fd_pairs_find(others, NONE, &plan, NULL));
    for (uint32_t i = 0; i < plan.jobs.count; i++) {
        const fd_plan_job *job = &plan.jobs.list[i];
        if (!fd_job_is_transfer((fd_job_kind)job->kind)) {
            EQUAL(others[i], NONE);
            continue;
        }
        const fd_plan_job *other = &plan.jobs.list[others[i]];
        EQUAL(others[others[i]], i);
        EQUAL(other->stage, job->peer);
        EQUAL(other->peer, job->stage);
        EQUAL(other->micro_batch, job->micro_batch);
        CHECK(fd_job_is_send((fd_job_kind)other->kind)
              != fd_job_is_send((fd_job_kind)job->kind));
    }
}

static void
faults(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    OK(plan_of(&plan, "1f1b", 3, 4));
    CLEAN(free_list)
    uint32_t *others = fd_malloc(plan.jobs.count * sizeof *others);
    OK(others != NULL ? FD_OK : FD_ENOMEM);
    fd_error error = {""};
    fd_plan_job *job = &plan.jobs.list[job_of(&plan, 1, FD_JOB_SA, 2)];
    fd_plan_job kept = *job;
    job->kind = FD_JOB_OPT;
    STATUS(fd_pairs_find(others, NONE, &plan, &error), FD_EINVAL);
    if (!check_refused()) {
        SAME(error.text, "RA of micro-batch 2 on stage 2 has no other end");
    }
    *job = kept;
    job->kind = FD_JOB_RA;
    STATUS(fd_pairs_find(others, NONE, &plan, &error), FD_EINVAL);
    *job = kept;
    job->micro_batch = 1;
    STATUS(fd_pairs_find(others, NONE, &plan, &error), FD_EINVAL);
    if (!check_refused()) {
        CHECK(strstr(error.text, "its like") != NULL);
    }
}

RUN(TEST(each_has_one), TEST(faults))
