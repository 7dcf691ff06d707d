#include "check.h"
#include "plans.h"

#include "base/alloc.h"
#include "pipeline/plan_simulator.h"

static void
list_clear(fd_job_list *list)
{
    fd_vector_clear(list);
}

static void
times_clear(int64_t **times)
{
    fd_free(*times);
}

/* F = I = W = 10, B = 20, a transfer as given. */
static fd_status
play(fd_replay *replay, const fd_plan *plan, int64_t transfer, bool blocking,
     fd_error *error)
{
    CLEAN(times_clear)
    int64_t *times = fd_malloc(plan->jobs.count * sizeof *times);
    if (times == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        fd_job_kind kind = (fd_job_kind)plan->jobs.list[i].kind;
        bool receives = kind == FD_JOB_RA || kind == FD_JOB_RG;
        times[i] = kind == FD_JOB_B        ? 20
                 : fd_job_is_compute(kind) ? 10
                 : receives                ? transfer
                                           : 0;
    }
    return fd_replay_run(replay, plan, times, blocking, error);
}

/* Two stages, one micro-batch: the path is everything, transfers included. */
static void
critical(void)
{
    static const fd_job_kind kinds[] = {FD_JOB_F,  FD_JOB_SA, FD_JOB_RA,
                                        FD_JOB_F,  FD_JOB_B,  FD_JOB_SG,
                                        FD_JOB_RG, FD_JOB_B};
    PLAN(plan, "1f1b", 2, 1);
    CLEAN(fd_replay_clear) fd_replay replay = {.begin = NULL};
    CLEAN(list_clear) fd_job_list list = {NULL, 0, 0};
    OK(play(&replay, &plan, 3, false, NULL));
    EQUAL(replay.makespan, 66);
    OK(fd_replay_critical(&list, &replay));
    EQUAL(list.count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        EQUAL(plan.jobs.list[list.list[i]].kind, kinds[i]);
    }
    EQUAL(replay.begin[list.list[2]], 0);
    EQUAL(replay.end[list.list[2]], 13);
    EQUAL(replay.stages[1].first, 13);
}

static void
refused(void)
{
    PLAN(plan, "deepspeed-train", 2, 4);
    PLAN(v, "zb-v", 2, 4);
    fd_error error = {""};
    CLEAN(fd_replay_clear) fd_replay blocking = {.begin = NULL};
    STATUS(play(&blocking, &v, 0, true, &error), FD_EINVAL);
    CLEAN(fd_replay_clear) fd_replay negative = {.begin = NULL};
    STATUS(play(&negative, &plan, -1, false, &error), FD_EINVAL);
    CLEAN(fd_replay_clear) fd_replay longest = {.begin = NULL};
    STATUS(play(&longest, &plan, INT64_MAX / 8, false, &error), FD_EINVAL);
    /* The two exchanges of stage 1 in the other order: both ends send. */
    for (uint32_t i = plan.first[1]; i + 1 < plan.first[2]; i++) {
        fd_plan_job *job = &plan.jobs.list[i];
        if (job[0].kind == FD_JOB_SG && job[1].kind == FD_JOB_RA) {
            fd_plan_job swapped = job[0];
            job[0] = job[1];
            job[1] = swapped;
        }
    }
    CLEAN(fd_replay_clear) fd_replay stuck = {.begin = NULL};
    STATUS(play(&stuck, &plan, 0, true, &error), FD_EINVAL);
    if (!check_refused()) {
        HAS(error.text, "deadlock");
    }
    CLEAN(fd_replay_clear) fd_replay lonely = {.begin = NULL};
    plan.jobs.list[plan.first[1]].kind = FD_JOB_OPT;
    STATUS(play(&lonely, &plan, 0, false, &error), FD_EINVAL);
}

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
    PLAN(plan, "deepspeed-train", 3, 4);
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
    PLAN(plan, "1f1b", 3, 4);
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
        HAS(error.text, "its like");
    }
}

RUN(TEST(critical), TEST(refused), TEST(each_has_one), TEST(faults))
