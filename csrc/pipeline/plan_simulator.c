#include "pipeline/plan_simulator.h"

#include "pipeline/simulator/job_simulator.h"

#include <string.h>

/* A plan as jobs of a simulation. A computation is one job, and so is an
 * overlapped transfer; the blocking transfers of a batch are
 *
 *     arrival of the stage | a transfer each | the end of all of them
 *
 * where the last is absent when the stage waits for exactly one transfer. */
typedef struct plan_run {
    const fd_plan *plan;
    bool blocking;
    const bool *posted; /* per job: a send for which the stage does not wait;
                         * NULL: no such sends */
    fd_replay *replay;
    int64_t *durations; /* owned, like the following arrays; times of the jobs,
                         * then 0 */
    uint32_t *others;   /* per job, like the next three: the other end */
    uint32_t *makers;   /* of a send: the computation that produced the sent
                         * result */
    uint32_t *arrivals; /* the simulated job that starts a blocking transfer */
    uint32_t *ends;     /* the simulated job that ends it */
    uint32_t *owners;   /* per simulated job: the job to report, the first one
                         * of a batch */
    fd_simulation simulation;
} plan_run;

static fd_job_kind
kind_of(const plan_run *p, uint32_t job)
{
    return (fd_job_kind)p->plan->jobs.list[job].kind;
}

static bool
is_posted(const plan_run *p, uint32_t job)
{
    return p->posted != NULL && p->posted[job]
        && fd_job_is_send(kind_of(p, job));
}

/* Return the receiving end, which determines the time of a transfer. */
static uint32_t
receiver(const plan_run *p, uint32_t job)
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

static uint32_t
waited_for(const plan_run *p, uint32_t job, uint32_t end)
{
    uint32_t count = 0;
    for (; job < end; job++) {
        count += is_posted(p, job) ? 0 : 1;
    }
    return count;
}

/* Number the simulated jobs first, because dependencies refer to jobs that are
 * added later. */
static uint32_t
number_jobs(plan_run *p)
{
    const fd_plan *plan = p->plan;
    uint32_t next = 0;
    for (uint32_t stage = 0; stage < plan->stages; stage++) {
        uint32_t job = plan->first[stage];
        while (job < plan->first[stage + 1]) {
            uint32_t end = batch_end(p, job, plan->first[stage + 1]);
            bool batch = is_batch(p, job);
            uint32_t first = next;
            next += batch ? 1 : 0;
            next += batch && waited_for(p, job, end) != 1 ? 1 : 0;
            uint32_t at = first + 1;
            for (uint32_t i = job; i < end; i++) {
                p->arrivals[i] = first;
                p->ends[i] = batch ? at : first;
                at += is_posted(p, i) ? 0 : 1;
                next += batch && is_posted(p, i) ? 0 : 1;
            }
            job = end;
        }
    }
    return next;
}

static fd_status
add_job(plan_run *p, uint32_t owner, uint32_t duration, uint32_t first,
        uint32_t second)
{
    fd_simulation *s = &p->simulation;
    p->owners[s->jobs.count] = owner;
    fd_status status = fd_sim_add_job(s, duration);
    if (status == FD_OK && first != FD_SIM_NONE) {
        status = fd_sim_depend(s, first, 0);
    }
    if (status == FD_OK && second != FD_SIM_NONE) {
        status = fd_sim_depend(s, second, 0);
    }
    return status;
}

/* Add a job. `last` is the simulated job for which the next job of the stage
 * waits. */
static fd_status
add_single(plan_run *p, uint32_t job, uint32_t *last)
{
    uint32_t none = p->plan->jobs.count; /* a duration of 0 */
    uint32_t here = p->ends[job];
    if (fd_job_is_send(kind_of(p, job))) {
        uint32_t maker = p->makers[job];
        uint32_t made = maker == FD_NO_JOB ? FD_SIM_NONE : p->ends[maker];
        return add_job(p, job, p->others[job], made, FD_SIM_NONE);
    }
    bool receives = fd_job_is_transfer(kind_of(p, job));
    uint32_t sent = receives ? p->ends[p->others[job]] : FD_SIM_NONE;
    fd_status status = add_job(p, job, receives ? none : job, *last, sent);
    *last = here;
    return status;
}

static fd_status
add_batch(plan_run *p, uint32_t first, uint32_t end, uint32_t *last)
{
    fd_simulation *s = &p->simulation;
    uint32_t none = p->plan->jobs.count;
    uint32_t arrival = s->jobs.count;
    fd_status status = add_job(p, first, none, *last, FD_SIM_NONE);
    for (uint32_t i = first; i < end && status == FD_OK; i++) {
        if (!is_posted(p, i)) {
            status = add_job(p, first, receiver(p, i), arrival,
                             p->arrivals[p->others[i]]);
        }
    }
    *last = s->jobs.count - 1;
    if (status == FD_OK && waited_for(p, first, end) != 1) {
        status = add_job(p, first, none, arrival, FD_SIM_NONE);
        *last = s->jobs.count - 1;
        for (uint32_t i = arrival + 1; i < *last && status == FD_OK; i++) {
            status = fd_sim_depend(s, i, 0);
        }
    }
    return status;
}

static fd_status
add_jobs(plan_run *p)
{
    const fd_plan *plan = p->plan;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < plan->stages && status == FD_OK; i++) {
        uint32_t last = FD_SIM_NONE;
        uint32_t job = plan->first[i];
        status = fd_sim_add_resource(&p->simulation);
        while (job < plan->first[i + 1] && status == FD_OK) {
            uint32_t end = batch_end(p, job, plan->first[i + 1]);
            status = is_batch(p, job) ? add_batch(p, job, end, &last)
                                      : add_single(p, job, &last);
            job = end;
        }
    }
    return status;
}

/* Set the computation whose result each send transfers: the latest one of the
 * same stage, direction, global stage and micro-batch. */
static fd_status
find_makers(plan_run *p)
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
check(const plan_run *p, const int64_t *times, fd_error *error)
{
    const fd_plan *plan = p->plan;
    if (p->blocking && p->posted == NULL && plan->waiting == FD_WAIT_NEVER) {
        return fd_fail(error, FD_EINVAL,
                       "%s: its engines have no blocking transfers; simulate"
                       " it with overlapped transfers",
                       fd_schedule_name(plan->schedule));
    }
    int64_t left = INT64_C(1) << 62;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
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
    const fd_simulation *s = &p->simulation;
    uint32_t stage = 0;
    while (s->next[stage] == fd_sim_end_of(s, stage)) {
        stage++;
    }
    uint32_t at = p->owners[s->next[stage]];
    const fd_plan_job *job = &p->plan->jobs.list[at];
    return fd_fail(error, FD_EINVAL,
                   "%s with %s transfers: deadlock, stage %u waits in %s"
                   " of micro-batch %d",
                   fd_schedule_name(p->plan->schedule),
                   p->blocking ? "blocking" : "overlapped", (unsigned)stage,
                   fd_job_kind_name((fd_job_kind)job->kind), job->micro_batch);
}

static fd_status
simulate(plan_run *p, fd_error *error)
{
    static const int64_t no_lag = 0;
    uint32_t count = number_jobs(p);
    p->owners = fd_calloc((size_t)count + 1, sizeof *p->owners);
    fd_status status = p->owners == NULL ? FD_ENOMEM : add_jobs(p);
    if (status == FD_OK) {
        status = fd_sim_prepare(&p->simulation);
    }
    if (status != FD_OK) {
        return status;
    }
    if (!fd_sim_order(&p->simulation)) {
        return report_deadlock(p, error);
    }
    fd_sim_run(&p->simulation, p->durations, &no_lag);
    return FD_OK;
}

/* The time of a stage, and the job that determines it. */
typedef struct stage_clock {
    int64_t time;
    uint32_t last;
} stage_clock;

static void
set(const plan_run *p, uint32_t job, int64_t begin, int64_t end,
    uint32_t cause)
{
    p->replay->begin[job] = begin;
    p->replay->end[job] = end;
    p->replay->cause[job] = cause;
}

/* Collect the time of one transfer: a send returns at once, a receive waits
 * for the data. */
static void
collect_single(const plan_run *p, uint32_t job, stage_clock *at)
{
    int64_t end = p->simulation.ends[p->ends[job]];
    if (fd_job_is_send(kind_of(p, job))) {
        int64_t start = p->simulation.starts[p->ends[job]];
        set(p, job, start, end, p->makers[job]);
        return;
    }
    bool receives = fd_job_is_transfer(kind_of(p, job));
    bool waits = receives && end > at->time;
    set(p, job, at->time, end, waits ? p->others[job] : at->last);
    if (!receives || waits) {
        *at = (stage_clock){end, job};
    }
}

static void
collect_batch(const plan_run *p, uint32_t first, uint32_t end, stage_clock *at)
{
    const int64_t *ends = p->simulation.ends;
    stage_clock next = *at;
    bool none = true;
    for (uint32_t job = first; job < end; job++) {
        uint32_t other = p->others[job];
        uint32_t over = p->ends[is_posted(p, job) ? other : job];
        bool later = ends[p->arrivals[other]] > at->time;
        set(p, job, at->time, ends[over],
            later && !is_posted(p, job) ? other : at->last);
        if (!is_posted(p, job) && (none || ends[over] > next.time)) {
            next = (stage_clock){ends[over], job};
            none = false;
        }
    }
    *at = next;
}

static void
collect(const plan_run *p)
{
    const fd_plan *plan = p->plan;
    for (uint32_t stage = 0; stage < plan->stages; stage++) {
        stage_clock at = {0, FD_NO_JOB};
        uint32_t job = plan->first[stage];
        while (job < plan->first[stage + 1]) {
            uint32_t end = batch_end(p, job, plan->first[stage + 1]);
            if (is_batch(p, job)) {
                collect_batch(p, job, end, &at);
            }
            else {
                collect_single(p, job, &at);
            }
            job = end;
        }
    }
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

static fd_status
allocate(plan_run *p)
{
    size_t count = p->plan->jobs.count;
    fd_replay *replay = p->replay;
    replay->begin = fd_calloc(count, sizeof *replay->begin);
    replay->end = fd_calloc(count, sizeof *replay->end);
    replay->cause = fd_calloc(count, sizeof *replay->cause);
    replay->stages = fd_calloc(p->plan->stages, sizeof *replay->stages);
    p->durations = fd_calloc(count + 1, sizeof *p->durations);
    p->others = fd_calloc(count, sizeof *p->others);
    p->makers = fd_calloc(count, sizeof *p->makers);
    p->arrivals = fd_calloc(count, sizeof *p->arrivals);
    p->ends = fd_calloc(count, sizeof *p->ends);
    bool all = replay->begin != NULL && replay->end != NULL
            && replay->cause != NULL && replay->stages != NULL
            && p->durations != NULL && p->others != NULL && p->makers != NULL
            && p->arrivals != NULL && p->ends != NULL;
    return all ? FD_OK : FD_ENOMEM;
}

static fd_status
run(plan_run *p, const int64_t *times, fd_error *error)
{
    const fd_plan *plan = p->plan;
    *p->replay = (fd_replay){.last = FD_NO_JOB};
    fd_status status = allocate(p);
    if (status == FD_OK) {
        status = check(p, times, error);
    }
    if (status == FD_OK) {
        memcpy(p->durations, times, plan->jobs.count * sizeof *times);
        status = fd_pairs_find(p->others, FD_NO_JOB, plan, error);
    }
    if (status == FD_OK) {
        status = find_makers(p);
    }
    if (status == FD_OK) {
        status = simulate(p, error);
    }
    if (status == FD_OK) {
        collect(p);
        sum(p->replay, plan);
    }
    fd_free(p->durations);
    fd_free(p->others);
    fd_free(p->makers);
    fd_free(p->arrivals);
    fd_free(p->ends);
    fd_free(p->owners);
    fd_sim_clear(&p->simulation);
    return status;
}

fd_status
fd_replay_run(fd_replay *replay, const fd_plan *plan, const int64_t *times,
              bool blocking, fd_error *error)
{
    plan_run p = {.plan = plan, .blocking = blocking, .replay = replay};
    return run(&p, times, error);
}

fd_status
fd_replay_run_posted(fd_replay *replay, const fd_plan *plan,
                     const int64_t *times, const bool *posted, fd_error *error)
{
    plan_run p = {
        .plan = plan, .blocking = true, .posted = posted, .replay = replay};
    return run(&p, times, error);
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

/* Return the slot of a transfer: activations, then gradients. Plans are
 * bounded, so slots fit into a size_t. */
static size_t
slot_of(const fd_plan *plan, const fd_plan_job *job)
{
    bool gradient = job->kind == FD_JOB_SG || job->kind == FD_JOB_RG;
    size_t lower = (size_t)(job->stage < job->peer ? job->stage : job->peer);
    size_t slot = gradient ? fd_plan_globals(plan) + lower : lower;
    return slot * plan->micro_batches + (size_t)job->micro_batch;
}

static fd_status
alone(const fd_plan_job *job, const char *what, fd_error *error)
{
    return fd_fail(error, FD_EINVAL, "%s of micro-batch %d on stage %d has %s",
                   fd_job_kind_name((fd_job_kind)job->kind), job->micro_batch,
                   job->stage, what);
}

static fd_status
pair(uint32_t *others, uint32_t none, const fd_plan *plan, uint32_t *ends,
     fd_error *error)
{
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        others[i] = none;
        if (!fd_job_is_transfer((fd_job_kind)job->kind)) {
            continue;
        }
        uint32_t *end = &ends[slot_of(plan, job)];
        if (*end == 0) {
            *end = i + 1;
            continue;
        }
        const fd_plan_job *other = &plan->jobs.list[*end - 1];
        if (others[*end - 1] != none || other->kind == job->kind) {
            return alone(job, "its like", error);
        }
        others[i] = *end - 1;
        others[*end - 1] = i;
    }
    return FD_OK;
}

fd_status
fd_pairs_find(uint32_t *others, uint32_t none, const fd_plan *plan,
              fd_error *error)
{
    size_t slots = 2 * (size_t)fd_plan_globals(plan) * plan->micro_batches;
    uint32_t *ends = fd_calloc(slots, sizeof *ends);
    if (ends == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = pair(others, none, plan, ends, error);
    for (size_t i = 0; i < slots && status == FD_OK; i++) {
        if (ends[i] != 0 && others[ends[i] - 1] == none) {
            status =
                alone(&plan->jobs.list[ends[i] - 1], "no other end", error);
        }
    }
    fd_free(ends);
    return status;
}
