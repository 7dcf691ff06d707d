#include "pipeline/plan_simulator.h"

#define UNKNOWN (-1)

/* The time of a stage, and the job that determines it. */
typedef struct stage_clock {
    int64_t time;
    uint32_t last;
    uint32_t next; /* the next job to simulate */
} stage_clock;

typedef struct plan_run {
    const fd_plan *plan;
    const int64_t *times; /* borrowed, per job */
    bool blocking;
    const bool *posted;  /* per job: a send for which the stage does not wait;
                         * NULL: no such sends */
    fd_replay *replay;   /* its ends are UNKNOWN before they are simulated */
    uint32_t *others;    /* per job, like the next two: the other end */
    uint32_t *makers;    /* of a send: the computation that produced the sent
                          * result */
    int64_t *arrivals;   /* of a blocking transfer: when its stage reached it;
                          * or UNKNOWN */
    stage_clock *clocks; /* per stage */
} plan_run;

static bool
job_fits(const fd_plan *plan, const fd_plan_job *job)
{
    if (job->kind < 0 || job->kind >= FD_JOB_KINDS) {
        return false;
    }
    int32_t least = fd_job_is_transfer((fd_job_kind)job->kind) ? 0 : -1;
    int32_t globals = (int32_t)plan->globals;
    return job->micro_batch >= least
        && job->micro_batch < (int64_t)plan->micro_batches && job->stage >= 0
        && job->stage < globals && job->peer >= least && job->peer < globals;
}

bool
fd_plan_fits(const fd_plan *plan)
{
    bool fits = plan->stages > 0 && plan->globals <= INT16_MAX
             && plan->waiting <= FD_WAIT_NEVER && plan->first[0] == 0
             && plan->first[plan->stages] == plan->count;
    for (uint32_t i = 0; i < plan->stages && fits; i++) {
        fits = plan->first[i] <= plan->first[i + 1];
    }
    for (uint32_t i = 0; i < plan->count && fits; i++) {
        fits = job_fits(plan, &plan->jobs[i]);
    }
    return fits;
}

static fd_job_kind
kind_of(const plan_run *p, uint32_t job)
{
    return (fd_job_kind)p->plan->jobs[job].kind;
}

static bool
is_posted(const plan_run *p, uint32_t job)
{
    return p->posted != NULL && p->posted[job]
        && fd_job_is_send(kind_of(p, job));
}

/* Return the receiving end, which determines the time of a transfer. */
static uint32_t
receiver_of(const plan_run *p, uint32_t job)
{
    return fd_job_is_send(kind_of(p, job)) ? p->others[job] : job;
}

static bool
is_batch(const plan_run *p, uint32_t job)
{
    return p->blocking && fd_job_is_transfer(kind_of(p, job));
}

/* Return the end of a batch of transfers that start together. */
static uint32_t
batch_end(const plan_run *p, uint32_t job, uint32_t end)
{
    uint32_t at = job + 1;
    while (is_batch(p, job) && p->plan->waiting != FD_WAIT_EACH && at < end
           && fd_job_is_transfer(kind_of(p, at))) {
        at++;
    }
    return at;
}

static void
set_job(const plan_run *p, uint32_t job, int64_t begin, int64_t end,
        uint32_t cause)
{
    p->replay->begin[job] = begin;
    p->replay->end[job] = end;
    p->replay->cause[job] = cause;
}

/* Simulate a computation, or an overlapped transfer: a send does not take time
 * of its stage, a receive waits for the data. Return false if they are not
 * known yet. */
static bool
run_single(const plan_run *p, uint32_t job, stage_clock *at)
{
    const int64_t *ends = p->replay->end;
    if (fd_job_is_send(kind_of(p, job))) {
        uint32_t maker = p->makers[job];
        int64_t made = maker == FD_NO_JOB ? 0 : ends[maker];
        set_job(p, job, made, made + p->times[p->others[job]], maker);
        return true;
    }
    bool receives = fd_job_is_transfer(kind_of(p, job));
    int64_t end = receives ? ends[p->others[job]] : at->time + p->times[job];
    if (end == UNKNOWN) {
        return false;
    }
    bool waits = receives && end > at->time;
    end = end > at->time ? end : at->time;
    set_job(p, job, at->time, end, waits ? p->others[job] : at->last);
    if (!receives || waits) {
        at->time = end;
        at->last = job;
    }
    return true;
}

/* Return when a transfer that both ends reached is over. */
static int64_t
transfer_end(const plan_run *p, uint32_t job)
{
    int64_t here = p->arrivals[job];
    int64_t there = p->arrivals[p->others[job]];
    return (here > there ? here : there) + p->times[receiver_of(p, job)];
}

/* Simulate blocking transfers that start together. Return false if a stage at
 * another end has not reached them. */
static bool
run_batch(const plan_run *p, uint32_t first, uint32_t end, stage_clock *at)
{
    bool ready = true;
    for (uint32_t job = first; job < end; job++) {
        p->arrivals[job] = at->time;
        ready = ready
             && (is_posted(p, job) || p->arrivals[p->others[job]] != UNKNOWN);
    }
    if (!ready) {
        return false;
    }
    stage_clock next = *at;
    bool none = true;
    for (uint32_t job = first; job < end; job++) {
        uint32_t other = p->others[job];
        bool waits = !is_posted(p, job);
        bool later = waits && p->arrivals[other] > at->time;
        int64_t over = waits ? transfer_end(p, job) : UNKNOWN;
        set_job(p, job, at->time, over, later ? other : at->last);
        if (waits && (none || over > next.time)) {
            next.time = over;
            next.last = job;
            none = false;
        }
    }
    *at = next;
    return true;
}

/* Simulate the jobs of a stage until it waits for another one. Return whether
 * any job was simulated. */
static bool
run_stage(const plan_run *p, uint32_t stage)
{
    stage_clock *at = &p->clocks[stage];
    uint32_t begin = at->next;
    uint32_t last = p->plan->first[stage + 1];
    while (at->next < last) {
        uint32_t job = at->next;
        uint32_t end = batch_end(p, job, last);
        if (!(is_batch(p, job) ? run_batch(p, job, end, at)
                               : run_single(p, job, at))) {
            break;
        }
        at->next = end;
    }
    return at->next > begin;
}

/* Set the computation whose result each send transfers: the latest one of the
 * same stage, direction, global stage and micro-batch. */
static void
find_makers(const plan_run *p, fd_arena *arena)
{
    const fd_plan *plan = p->plan;
    size_t one = (size_t)plan->globals * plan->micro_batches;
    uint32_t *made = fd_arena_new(arena, 2 * one, sizeof *made);
    for (uint32_t i = 0; i < plan->count; i++) {
        const fd_plan_job *job = &plan->jobs[i];
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
    fd_arena_drop(made);
}

static fd_status
check_times(const plan_run *p, fd_error *error)
{
    const int64_t *times = p->times;
    const fd_plan *plan = p->plan;
    if (p->blocking && p->posted == NULL && plan->waiting == FD_WAIT_NEVER) {
        return fd_fail(error, FD_EINVAL,
                       "%s: its engines have no blocking transfers; simulate"
                       " it with overlapped transfers",
                       plan->schedule);
    }
    int64_t left = INT64_C(1) << 62;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (times[i] < 0 || times[i] > left) {
            return fd_fail(error, FD_EINVAL,
                           times[i] < 0 ? "a time is negative"
                                        : "the sum of the times is too large");
        }
        left -= times[i];
    }
    return FD_OK;
}

/* Report the first waiting stage and its job. */
static fd_status
report_deadlock(const plan_run *p, fd_error *error)
{
    uint32_t stage = 0;
    while (p->clocks[stage].next == p->plan->first[stage + 1]) {
        stage++;
    }
    const fd_plan_job *job = &p->plan->jobs[p->clocks[stage].next];
    return fd_fail(error, FD_EINVAL,
                   "%s with %s transfers: deadlock, stage %u waits in %s"
                   " of micro-batch %d",
                   p->plan->schedule, p->blocking ? "blocking" : "overlapped",
                   (unsigned)stage, fd_job_kind_name((fd_job_kind)job->kind),
                   job->micro_batch);
}

/* Simulate all stages in turn, as long as one of them advances. */
static fd_status
simulate_plan(const plan_run *p, fd_error *error)
{
    const fd_plan *plan = p->plan;
    bool advanced = true;
    for (uint32_t i = 0; i < plan->count; i++) {
        p->replay->end[i] = UNKNOWN;
        p->arrivals[i] = UNKNOWN;
    }
    for (uint32_t stage = 0; stage < plan->stages; stage++) {
        p->clocks[stage] = (stage_clock){0, FD_NO_JOB, plan->first[stage]};
    }
    while (advanced) {
        advanced = false;
        for (uint32_t stage = 0; stage < plan->stages; stage++) {
            advanced = run_stage(p, stage) || advanced;
        }
    }
    for (uint32_t stage = 0; stage < plan->stages; stage++) {
        if (p->clocks[stage].next < plan->first[stage + 1]) {
            return report_deadlock(p, error);
        }
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        if (p->replay->end[i] == UNKNOWN) { /* a posted send */
            p->replay->end[i] = transfer_end(p, i);
        }
    }
    return FD_OK;
}

static void
sum_stages(fd_replay *replay, const fd_plan *plan)
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
            if (fd_job_is_compute((fd_job_kind)plan->jobs[j].kind)) {
                stage->first = some ? stage->first : replay->begin[j];
                stage->busy += replay->end[j] - replay->begin[j];
                stage->last = replay->end[j];
                some = true;
            }
        }
    }
}

/* Return the slot of a transfer: activations, then gradients. Plans are
 * bounded, so slots fit into a size_t. */
static size_t
slot_of(const fd_plan *plan, const fd_plan_job *job)
{
    bool gradient = job->kind == FD_JOB_SG || job->kind == FD_JOB_RG;
    size_t lower = (size_t)(job->stage < job->peer ? job->stage : job->peer);
    size_t slot = gradient ? plan->globals + lower : lower;
    return slot * plan->micro_batches + (size_t)job->micro_batch;
}

static fd_status
fail_alone(const fd_plan_job *job, const char *what, fd_error *error)
{
    return fd_fail(error, FD_EINVAL, "%s of micro-batch %d on stage %d has %s",
                   fd_job_kind_name((fd_job_kind)job->kind), job->micro_batch,
                   job->stage, what);
}

static fd_status
pair_ends(const plan_run *p, uint32_t *ends, fd_error *error)
{
    const fd_plan *plan = p->plan;
    uint32_t *others = p->others;
    for (uint32_t i = 0; i < plan->count; i++) {
        const fd_plan_job *job = &plan->jobs[i];
        others[i] = FD_NO_JOB;
        if (!fd_job_is_transfer((fd_job_kind)job->kind)) {
            continue;
        }
        uint32_t *end = &ends[slot_of(plan, job)];
        if (*end == 0) {
            *end = i + 1;
            continue;
        }
        const fd_plan_job *other = &plan->jobs[*end - 1];
        if (others[*end - 1] != FD_NO_JOB || other->kind == job->kind) {
            return fail_alone(job, "its like", error);
        }
        others[i] = *end - 1;
        others[*end - 1] = i;
    }
    return FD_OK;
}

/* Set the other end of each transfer. A transfer is identified by its
 * direction, the lower of its two global stages and its micro-batch. */
static fd_status
find_pairs(const plan_run *p, fd_arena *arena)
{
    const fd_plan *plan = p->plan;
    size_t slots = 2 * (size_t)plan->globals * plan->micro_batches;
    uint32_t *ends = fd_arena_new(arena, slots, sizeof *ends);
    fd_status status = pair_ends(p, ends, arena->error);
    for (size_t i = 0; i < slots && status == FD_OK; i++) {
        if (ends[i] != 0 && p->others[ends[i] - 1] == FD_NO_JOB) {
            status = fail_alone(&plan->jobs[ends[i] - 1], "no other end",
                                arena->error);
        }
    }
    fd_arena_drop(ends);
    return status;
}

static void
list_critical(fd_replay *replay, fd_arena *arena)
{
    fd_job_list *list = &replay->critical;
    for (uint32_t job = replay->last; job != FD_NO_JOB;
         job = replay->cause[job]) {
        fd_arena_push(arena, list, job);
    }
    for (uint32_t i = 0, j = list->count; i + 1 < j; i++) {
        uint32_t swapped = list->list[--j];
        list->list[j] = list->list[i];
        list->list[i] = swapped;
    }
}

static void
run_plan(plan_run *p, fd_arena *arena)
{
    size_t count = p->plan->count;
    size_t stages = p->plan->stages;
    fd_replay *replay = p->replay;
    replay->begin = fd_arena_new(arena, count, sizeof *replay->begin);
    replay->end = fd_arena_new(arena, count, sizeof *replay->end);
    replay->cause = fd_arena_new(arena, count, sizeof *replay->cause);
    replay->stages = fd_arena_new(arena, stages, sizeof *replay->stages);
    p->others = fd_arena_new(arena, count, sizeof *p->others);
    p->makers = fd_arena_new(arena, count, sizeof *p->makers);
    p->arrivals = fd_arena_new(arena, count, sizeof *p->arrivals);
    p->clocks = fd_arena_new(arena, stages, sizeof *p->clocks);
    fd_arena_check(arena, check_times(p, arena->error));
    fd_arena_check(arena, find_pairs(p, arena));
    find_makers(p, arena);
    fd_arena_check(arena, simulate_plan(p, arena->error));
    sum_stages(replay, p->plan);
    list_critical(replay, arena);
}

fd_status
fd_replay_run(fd_replay *replay, fd_arena *arena, const fd_plan *plan,
              const fd_prices *prices, fd_error *error)
{
    *replay = (fd_replay){.last = FD_NO_JOB};
    if (fd_arena_caught(arena, error)) {
        return arena->status;
    }
    plan_run p = {.plan = plan,
                  .times = prices->times,
                  .blocking = prices->blocking || prices->posted != NULL,
                  .posted = prices->posted,
                  .replay = replay};
    run_plan(&p, arena);
    return fd_arena_left(arena);
}
