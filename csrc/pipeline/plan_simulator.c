#include "pipeline/plan_simulator.h"

#include "pipeline/schedules/transfer_pairs.h"

/* How far a stage has come. */
typedef struct place {
    uint32_t at;   /* the job it is about to do */
    uint32_t last; /* the one that kept it until `time` */
    int64_t time;
    bool queued;
} place;

typedef struct player {
    const fd_plan *plan;
    const int64_t *times;
    bool blocking;
    const bool *leaves; /* a job: a send that is not waited for; NULL: none */
    fd_replay *replay;
    uint32_t *others; /* owned, as the four below; a job */
    uint32_t *makers; /* of a send: the computation it sends the result of */
    bool *posted;
    place *places;   /* a stage */
    uint32_t *queue; /* stages that may go on */
    uint32_t queued;
} player;

static fd_job_kind
kind_of(const player *p, uint32_t job)
{
    return (fd_job_kind)p->plan->jobs.list[job].kind;
}

static void
enqueue(player *p, uint32_t stage)
{
    if (!p->places[stage].queued) {
        p->places[stage].queued = true;
        p->queue[p->queued++] = stage;
    }
}

static void
post(player *p, uint32_t job)
{
    p->posted[job] = true;
    enqueue(p,
            fd_plan_holder(p->plan, (uint32_t)p->plan->jobs.list[job].peer));
}

static void
set(player *p, uint32_t job, int64_t begin, int64_t end, uint32_t cause)
{
    p->replay->begin[job] = begin;
    p->replay->end[job] = end;
    p->replay->cause[job] = cause;
}

/* A transfer takes what its receiver says. */
static int64_t
transfer_time(const player *p, uint32_t job)
{
    bool sends = fd_job_is_send(kind_of(p, job));
    return p->times[sends ? p->others[job] : job];
}

static void
compute(player *p, place *at)
{
    uint32_t job = at->at++;
    int64_t end = at->time + p->times[job];
    set(p, job, at->time, end, at->last);
    at->time = end;
    at->last = job;
}

/* Overlapped: a send is over for its stage at once, a receive waits for what
 * was sent. */
static bool
transfer_beside(player *p, place *at)
{
    uint32_t job = at->at;
    if (fd_job_is_send(kind_of(p, job))) {
        uint32_t maker = p->makers[job];
        int64_t begin = maker == FD_NO_JOB ? 0 : p->replay->end[maker];
        set(p, job, begin, begin + transfer_time(p, job), maker);
        post(p, job);
        at->at++;
        return true;
    }
    uint32_t send = p->others[job];
    if (!p->posted[send]) {
        return false;
    }
    int64_t there = p->replay->end[send];
    if (there > at->time) {
        set(p, job, at->time, there, send);
        at->time = there;
        at->last = job;
    }
    else {
        set(p, job, at->time, at->time, at->last);
    }
    at->at++;
    return true;
}

static bool
leaves(const player *p, uint32_t job)
{
    return p->leaves != NULL && p->leaves[job]
        && fd_job_is_send(kind_of(p, job));
}

/* Both ends are posted: the later one begins the transfer. */
static void
meet(player *p, uint32_t job)
{
    uint32_t other = p->others[job];
    fd_replay *replay = p->replay;
    int64_t begin = replay->begin[job];
    if (replay->begin[other] > begin) {
        begin = replay->begin[other];
        replay->cause[job] = other;
    }
    replay->end[job] = begin + transfer_time(p, job);
    if (leaves(p, other)) {
        replay->end[other] = replay->end[job];
    }
}

/* Blocking: all jobs from the one at hand to `end` are posted, and done when
 * the last of them is. */
static bool
transfer_together(player *p, place *at, uint32_t end)
{
    bool all = true;
    for (uint32_t job = at->at; job < end; job++) {
        if (!p->posted[job]) {
            set(p, job, at->time, at->time, at->last);
            post(p, job);
        }
        all = all && (leaves(p, job) || p->posted[p->others[job]]);
    }
    if (!all) {
        return false;
    }
    int64_t time = at->time;
    bool first = true;
    for (uint32_t job = at->at; job < end; job++) {
        if (leaves(p, job)) {
            continue;
        }
        meet(p, job);
        if (p->replay->end[job] > time || first) {
            time = p->replay->end[job];
            at->last = job;
        }
        first = false;
    }
    at->time = time;
    at->at = end;
    return true;
}

/* Where the transfers that are posted together end. */
static uint32_t
batch_end(const player *p, uint32_t job, uint32_t end)
{
    uint32_t at = job + 1;
    while (p->plan->waiting != FD_WAIT_EACH && at < end
           && fd_job_is_transfer(kind_of(p, at))) {
        at++;
    }
    return at;
}

/* Go on until something has to be waited for. */
static void
advance(player *p, uint32_t stage)
{
    place *at = &p->places[stage];
    uint32_t end = p->plan->first[stage + 1];
    bool on = true;
    while (on && at->at < end) {
        if (!fd_job_is_transfer(kind_of(p, at->at))) {
            compute(p, at);
        }
        else if (p->blocking) {
            on = transfer_together(p, at, batch_end(p, at->at, end));
        }
        else {
            on = transfer_beside(p, at);
        }
    }
}

/* The computation that each send sends the result of: the latest on its stage
 * of that direction, global stage and micro-batch. */
static fd_status
find_makers(player *p)
{
    const fd_plan *plan = p->plan;
    size_t one = (size_t)fd_plan_globals(plan) * plan->micro_batches;
    uint32_t *made = fd_calloc(2 * one, sizeof *made);
    if (made == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (job->micro_batch < 0) {
            continue;
        }
        size_t slot = (size_t)job->stage * plan->micro_batches
                    + (size_t)job->micro_batch;
        bool back = job->kind == FD_JOB_SG || job->kind == FD_JOB_B
                 || job->kind == FD_JOB_I;
        uint32_t *last = &made[back ? one + slot : slot];
        if (back || job->kind == FD_JOB_F || job->kind == FD_JOB_SA) {
            if (fd_job_is_send((fd_job_kind)job->kind)) {
                p->makers[i] = *last == 0 ? FD_NO_JOB : *last - 1;
            }
            else {
                *last = i + 1;
            }
        }
    }
    fd_free(made);
    return FD_OK;
}

static fd_status
check(const player *p, fd_error *error)
{
    const fd_plan *plan = p->plan;
    const int64_t *times = p->times;
    if (p->blocking && p->leaves == NULL && plan->waiting == FD_WAIT_NEVER) {
        return fd_fail(error, FD_EINVAL,
                       "%s: its engines do not wait for transfers, so there is"
                       " nothing to block; play it overlapped",
                       fd_schedule_name(plan->schedule));
    }
    int64_t left = INT64_C(1) << 62;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        if (times[i] < 0 || times[i] > left) {
            return fd_fail(error, FD_EINVAL,
                           times[i] < 0 ? "a time is negative"
                                        : "the times are too long to add");
        }
        left -= times[i];
    }
    return FD_OK;
}

static fd_status
play(player *p, fd_error *error)
{
    const fd_plan *plan = p->plan;
    for (uint32_t i = plan->stages; i-- > 0;) {
        p->places[i] = (place){.at = plan->first[i], .last = FD_NO_JOB};
        enqueue(p, i);
    }
    while (p->queued > 0) {
        uint32_t stage = p->queue[--p->queued];
        p->places[stage].queued = false;
        advance(p, stage);
    }
    for (uint32_t i = 0; i < plan->stages; i++) {
        if (p->places[i].at < plan->first[i + 1]) {
            const fd_plan_job *job = &plan->jobs.list[p->places[i].at];
            return fd_fail(error, FD_EINVAL,
                           "%s with %s transfers never ends: stage %u waits"
                           " in %s of micro-batch %d",
                           fd_schedule_name(plan->schedule),
                           p->blocking ? "blocking" : "overlapped", i,
                           fd_job_kind_name((fd_job_kind)job->kind),
                           job->micro_batch);
        }
    }
    return FD_OK;
}

static void
sum(fd_replay *replay, const fd_plan *plan)
{
    for (uint32_t i = 0; i < plan->stages; i++) {
        fd_replay_stage *stage = &replay->stages[i];
        bool some = false;
        for (uint32_t j = plan->first[i]; j < plan->first[i + 1]; j++) {
            if (replay->last == FD_NO_JOB
                || replay->end[j] > replay->makespan) {
                replay->last = j;
                replay->makespan = replay->end[j];
            }
            if (fd_job_is_compute((fd_job_kind)plan->jobs.list[j].kind)) {
                stage->first = some ? stage->first : replay->begin[j];
                stage->busy += replay->end[j] - replay->begin[j];
                stage->last = replay->end[j];
                some = true;
            }
        }
    }
}

/* What the playing takes, and what comes of it. */
static fd_status
allocate(player *p)
{
    size_t count = p->plan->jobs.count;
    size_t stages = p->plan->stages;
    fd_replay *replay = p->replay;
    replay->begin = fd_calloc(count, sizeof *replay->begin);
    replay->end = fd_calloc(count, sizeof *replay->end);
    replay->cause = fd_calloc(count, sizeof *replay->cause);
    replay->stages = fd_calloc(stages, sizeof *replay->stages);
    p->others = fd_calloc(count, sizeof *p->others);
    p->makers = fd_calloc(count, sizeof *p->makers);
    p->posted = fd_calloc(count, sizeof *p->posted);
    p->places = fd_calloc(stages, sizeof *p->places);
    p->queue = fd_calloc(stages, sizeof *p->queue);
    bool all = replay->begin != NULL && replay->end != NULL
            && replay->cause != NULL && replay->stages != NULL
            && p->others != NULL && p->makers != NULL && p->posted != NULL
            && p->places != NULL && p->queue != NULL;
    return all ? FD_OK : FD_ENOMEM;
}

static fd_status
run(player *p, fd_error *error)
{
    const fd_plan *plan = p->plan;
    *p->replay = (fd_replay){.last = FD_NO_JOB};
    fd_status status = allocate(p);
    if (status == FD_OK) {
        status = check(p, error);
    }
    if (status == FD_OK) {
        status = fd_pairs_find(p->others, FD_NO_JOB, plan, error);
    }
    if (status == FD_OK) {
        status = find_makers(p);
    }
    if (status == FD_OK) {
        status = play(p, error);
    }
    if (status == FD_OK) {
        sum(p->replay, plan);
    }
    fd_free(p->others);
    fd_free(p->makers);
    fd_free(p->posted);
    fd_free(p->places);
    fd_free(p->queue);
    return status;
}

fd_status
fd_replay_run(fd_replay *replay, const fd_plan *plan, const int64_t *times,
              bool blocking, fd_error *error)
{
    player p = {
        .plan = plan, .times = times, .blocking = blocking, .replay = replay};
    return run(&p, error);
}

fd_status
fd_replay_run_posted(fd_replay *replay, const fd_plan *plan,
                     const int64_t *times, const bool *posted, fd_error *error)
{
    player p = {.plan = plan,
                .times = times,
                .blocking = true,
                .leaves = posted,
                .replay = replay};
    return run(&p, error);
}

void
fd_replay_clear(fd_replay *replay)
{
    fd_free(replay->begin);
    fd_free(replay->end);
    fd_free(replay->cause);
    fd_free(replay->stages);
    *replay = (fd_replay){.begin = NULL};
}

void
fd_replay_price(int64_t *times, const fd_plan *plan,
                const fd_replay_prices *prices)
{
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        const int64_t *of_stage = prices->of_kind[job->kind];
        times[i] = of_stage == NULL ? 0 : of_stage[job->stage];
    }
}

fd_status
fd_replay_critical(fd_job_list *list, const fd_replay *replay)
{
    uint32_t job = replay->last;
    fd_status status = FD_OK;
    while (job != FD_NO_JOB && status == FD_OK) {
        status = fd_vector_push(list, job);
        job = replay->cause[job];
    }
    for (uint32_t i = 0, j = list->count; i + 1 < j; i++) {
        uint32_t swapped = list->list[--j];
        list->list[j] = list->list[i];
        list->list[i] = swapped;
    }
    return status;
}
