#include "pipeline/report/pipeline_schedule.h"

#include "pipeline/report/pipeline_dependencies.h"
#include "pipeline/report/pipeline_match.h"

#include <stdio.h>

/* Return the number of micro-batches of the drawn iteration, ignoring numbers
 * out of range. */
static uint32_t
count_micro_batches(const fd_pipe *p, uint32_t iteration)
{
    int32_t most = -1;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        fd_pipe_cell cell = fd_pipeline_cell(p, i, iteration);
        for (uint32_t j = cell.first; j < cell.end; j++) {
            const fd_pipe_job *job = &p->jobs.list[j];
            if (fd_pipe_computes(job) && job->micro_batch > most) {
                most = job->micro_batch;
            }
        }
    }
    return (uint32_t)(most + 1);
}

static bool
is_same(const fd_pipe_job *job, const fd_plan_job *planned)
{
    return job->kind == planned->kind && job->stage == planned->stage
        && job->micro_batch == planned->micro_batch;
}

static void
tell_difference(char *text, size_t capacity, const fd_pipe_rank *rank,
                const fd_pipe_job *job, const fd_plan_job *planned)
{
    char has[48] = "nothing more";
    char wants[48] = "nothing more";
    if (job != NULL) {
        snprintf(has, sizeof has, "%s of micro-batch %d on stage %d",
                 fd_pipe_kind_names[job->kind], job->micro_batch, job->stage);
    }
    if (planned != NULL) {
        snprintf(wants, sizeof wants, "%s of micro-batch %d on stage %d",
                 fd_pipe_kind_names[planned->kind], planned->micro_batch,
                 planned->stage);
    }
    snprintf(text, capacity, "rank %u: %s where the schedule has %s",
             rank->rank, has, wants);
}

/* Return whether a rank computed in the order of the plan; if not, describe
 * the difference. */
static bool
follows_plan(const fd_pipe *p, const fd_plan *plan, uint32_t at,
             uint32_t iteration, char *text, size_t capacity)
{
    const fd_pipe_rank *rank = &p->ranks.list[at];
    fd_pipe_cell cell = fd_pipeline_cell(p, at, iteration);
    uint32_t i = cell.first;
    uint32_t j = plan->first[rank->position];
    uint32_t past = plan->first[rank->position + 1];
    for (;; i++, j++) {
        while (i < cell.end && !fd_pipe_computes(&p->jobs.list[i])) {
            i++;
        }
        while (j < past
               && !fd_job_is_compute((fd_job_kind)plan->jobs.list[j].kind)) {
            j++;
        }
        const fd_pipe_job *job = i < cell.end ? &p->jobs.list[i] : NULL;
        const fd_plan_job *planned = j < past ? &plan->jobs.list[j] : NULL;
        if (job == NULL && planned == NULL) {
            return true;
        }
        if (job == NULL || planned == NULL || !is_same(job, planned)) {
            tell_difference(text, capacity, rank, job, planned);
            return false;
        }
    }
}

/* Compare a schedule with the iteration, skipping ranks without jobs in it. */
static fd_status
try_schedule(fd_pipe_schedule *found, const fd_pipe *p,
             const fd_pipe_idle *idle, fd_schedule schedule)
{
    uint32_t drawn = (uint32_t)idle->drawn;
    fd_plan_request request = {.schedule = schedule,
                               .stages = p->stages,
                               .micro_batches = found->micro_batches,
                               .chunks = p->chunks};
    fd_plan_clear(&found->plan);
    fd_status status = fd_plan_make(&found->plan, &request, NULL);
    if (status == FD_EINVAL || found->plan.chunks != p->chunks) {
        return status == FD_ENOMEM ? status : FD_OK;
    }
    found->known = status == FD_OK;
    for (uint32_t i = 0; i < p->ranks.count && found->known; i++) {
        fd_pipe_cell cell = fd_pipeline_cell(p, i, drawn);
        int32_t index = p->ranks.list[i].position;
        if (index >= 0 && cell.end > cell.first) {
            found->known =
                (uint32_t)index < found->plan.stages
                && follows_plan(p, &found->plan, i, drawn, found->difference,
                                sizeof found->difference);
        }
    }
    return status;
}

static bool
has_loads(const fd_pipe *p)
{
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        if (p->jobs.list[i].kind == FD_JOB_LM) {
            return true;
        }
    }
    return false;
}

static fd_status
find_schedule(fd_pipe_schedule *found, const fd_pipe *p,
              const fd_pipe_idle *idle, fd_schedule named)
{
    static const fd_schedule others[] = {
        FD_SCHEDULE_1F1B,  FD_SCHEDULE_GPIPE, FD_SCHEDULE_INTERLEAVED,
        FD_SCHEDULE_ZB_H1, FD_SCHEDULE_ZB_V,  FD_SCHEDULE_DEEPSPEED_INFERENCE};
    fd_status status = FD_OK;
    if (named != FD_SCHEDULES) {
        return try_schedule(found, p, idle, named);
    }
    if (has_loads(p)) {
        status = try_schedule(found, p, idle, FD_SCHEDULE_DEEPSPEED_TRAIN);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others && status == FD_OK
                       && !found->known;
         i++) {
        status = try_schedule(found, p, idle, others[i]);
    }
    found->difference[0] = '\0';
    return status;
}

/* Sums over iterations: per kind, global stage and micro-batch (the last
 * entry: jobs without a micro-batch). */
typedef struct sums {
    int64_t *time;   /* owned */
    uint32_t *count; /* owned */
    uint32_t globals;
    uint32_t batches;
} sums;

static size_t
sum_slot(const sums *s, int kind, int32_t stage, int32_t micro_batch)
{
    uint32_t batch = micro_batch < 0 || (uint32_t)micro_batch >= s->batches
                       ? s->batches
                       : (uint32_t)micro_batch;
    return ((size_t)kind * s->globals + (size_t)stage) * (s->batches + 1)
         + batch;
}

/* Return the gap before a job, without waiting. */
static int64_t
launch_gap(const fd_pipe *p, const fd_pipe_idle *idle, uint32_t at)
{
    const fd_pipe_job *job = &p->jobs.list[at];
    if (job->before == FD_NO_PIPE_JOB
        || (at > 0 && fd_pipeline_is_same_call(job, job - 1))) {
        return 0;
    }
    int64_t free = p->jobs.list[job->before].end;
    fd_pipe_dependency dependency =
        fd_pipeline_dependency(p, idle->producers, at, at + 1);
    free = dependency.rank != FD_NO_PIPE_JOB && dependency.time > free
             ? dependency.time
             : free;
    return job->start > free ? job->start - free : 0;
}

static void
add_cell(sums *s, const fd_pipe *p, const fd_pipe_idle *idle,
         fd_pipe_cell cell)
{
    int64_t gap = 0;
    for (uint32_t i = cell.first; i < cell.end; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        gap += launch_gap(p, idle, i);
        if (job->kind >= FD_JOB_KINDS || job->stage < 0
            || (uint32_t)job->stage >= s->globals
            || (job->flags & FD_PIPE_POSTED) != 0) {
            continue;
        }
        size_t to = sum_slot(s, job->kind, job->stage, job->micro_batch);
        s->time[to] += job->end - job->ready;
        if (!fd_pipe_moves(job)) {
            s->time[to] += gap;
            gap = 0;
        }
        s->count[to]++;
    }
}

/* Find, for each posted send, the job that waits for it, + 1. */
static void
find_waits(const fd_pipe *p, uint32_t *waits)
{
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        uint32_t post = fd_pipe_post(p, i);
        if (fd_pipe_moves(job) && fd_pipe_sends(job) && post != i) {
            waits[post] = i + 1;
        }
    }
}

/* Return whether a stage continues during a transfer: it computes before it
 * waits, or does not wait. Transfers within a rank do not wait. */
static bool
goes_on(const fd_pipe *p, const uint32_t *waits, uint32_t send)
{
    const fd_pipe_job *job = &p->jobs.list[send];
    if ((job->flags & FD_PIPE_POSTED) == 0) {
        return job->other != FD_NO_PIPE_JOB
            && p->jobs.list[job->other].at == job->at;
    }
    for (uint32_t i = send + 1; i < waits[send]; i++) {
        if (fd_pipe_computes(&p->jobs.list[i])) {
            return true;
        }
    }
    return waits[send] == 0;
}

/* Count posted sends and other sends. */
static void
add_sends(sums *s, const fd_pipe *p, const uint32_t *waits, fd_pipe_cell cell)
{
    for (uint32_t i = cell.first; i < cell.end; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        if (fd_pipe_moves(job) && fd_pipe_sends(job) && fd_pipe_post(p, i) == i
            && job->stage >= 0 && (uint32_t)job->stage < s->globals) {
            size_t to = sum_slot(s, job->kind, job->stage, job->micro_batch);
            s->time[to] += goes_on(p, waits, i) ? 1 : -1;
            s->count[to]++;
        }
    }
}

/* Return the mean of a kind on a stage over all micro-batches. */
static int64_t
mean_of(const sums *s, int kind, int32_t stage)
{
    int64_t time = 0;
    int64_t count = 0;
    for (uint32_t batch = 0; batch <= s->batches; batch++) {
        size_t from = sum_slot(s, kind, stage, (int32_t)batch);
        time += s->time[from];
        count += s->count[from];
    }
    return count == 0 ? 0 : time / count;
}

static fd_status
take_means(fd_pipe_schedule *found, const sums *s)
{
    const fd_plan *plan = &found->plan;
    found->times = fd_calloc(plan->jobs.count, sizeof *found->times);
    bool all = found->times != NULL;
    for (int kind = 0; kind < FD_JOB_KINDS && all; kind++) {
        found->prices[kind] = fd_calloc(s->globals, sizeof(int64_t));
        all = found->prices[kind] != NULL;
        for (uint32_t g = 0; all && g < s->globals; g++) {
            found->prices[kind][g] = mean_of(s, kind, (int32_t)g);
        }
    }
    for (uint32_t i = 0; i < plan->jobs.count && all; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        size_t from = sum_slot(s, job->kind, job->stage, job->micro_batch);
        found->times[i] = s->count[from] > 0
                            ? s->time[from] / s->count[from]
                            : found->prices[job->kind][job->stage];
    }
    return all ? FD_OK : FD_ENOMEM;
}

static fd_status
open_sums(sums *s, const fd_pipe_schedule *found)
{
    s->globals = fd_plan_globals(&found->plan);
    s->batches = found->micro_batches;
    size_t slots = (size_t)FD_JOB_KINDS * s->globals * (s->batches + 1);
    s->time = fd_calloc(slots, sizeof *s->time);
    s->count = fd_calloc(slots, sizeof *s->count);
    return s->time == NULL || s->count == NULL ? FD_ENOMEM : FD_OK;
}

static void
close_sums(sums *s)
{
    fd_free(s->time);
    fd_free(s->count);
}

static fd_status
measure_schedule(fd_pipe_schedule *found, const fd_pipe *p,
                 const fd_pipe_idle *idle)
{
    sums s;
    fd_status status = open_sums(&s, found);
    for (uint32_t i = 0; i < p->ranks.count && status == FD_OK; i++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            if (fd_pipe_share_of(idle->shares, p, i, j)->chosen) {
                add_cell(&s, p, idle, fd_pipeline_cell(p, i, j));
            }
        }
    }
    fd_then(status, take_means(found, &s));
    close_sums(&s);
    return status;
}

/* Set which sends are posted: those of which most with their kind and
 * micro-batch were. Unrecorded transfers do not wait. */
static void
take_posted(fd_pipe_schedule *found, const sums *s)
{
    const fd_plan *plan = &found->plan;
    uint32_t sends = 0;
    uint32_t posted = 0;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (fd_job_is_send((fd_job_kind)job->kind)) {
            found->posted[i] =
                s->time[sum_slot(s, job->kind, job->stage, job->micro_batch)]
                >= 0;
            sends++;
            posted += found->posted[i];
        }
    }
    found->blocking = sends > 0 && posted == 0;
    found->mixed = posted > 0 && posted < sends;
}

/* Treat all sends as posted if blocking transfers deadlock, because the order
 * of an engine's transfers differs from the plan. */
static fd_status
check_posted(fd_pipe_schedule *found)
{
    const fd_plan *plan = &found->plan;
    fd_replay replay;
    fd_status status =
        fd_replay_run_posted(&replay, plan, found->times, found->posted, NULL);
    fd_replay_clear(&replay);
    for (uint32_t i = 0; status == FD_EINVAL && i < plan->jobs.count; i++) {
        found->posted[i] = true;
        found->blocking = found->mixed = false;
    }
    return status == FD_EINVAL ? FD_OK : status;
}

static bool
has_moves(const fd_pipe *p)
{
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        if (fd_pipe_moves(&p->jobs.list[i])) {
            return true;
        }
    }
    return false;
}

static fd_status
find_posted(fd_pipe_schedule *found, const fd_pipe *p,
            const fd_pipe_idle *idle)
{
    sums s = {.time = NULL};
    uint32_t *waits = fd_calloc((size_t)p->jobs.count + 1, sizeof *waits);
    found->posted = fd_calloc(found->plan.jobs.count, sizeof *found->posted);
    fd_status status = waits == NULL || found->posted == NULL
                         ? FD_ENOMEM
                         : open_sums(&s, found);
    if (status == FD_OK) {
        find_waits(p, waits);
    }
    for (uint32_t i = 0; i < p->ranks.count && status == FD_OK; i++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            if (fd_pipe_share_of(idle->shares, p, i, j)->chosen) {
                add_sends(&s, p, waits, fd_pipeline_cell(p, i, j));
            }
        }
    }
    if (status == FD_OK) {
        take_posted(found, &s);
        status = check_posted(found);
    }
    close_sums(&s);
    fd_free(waits);
    return status;
}

bool
fd_pipe_schedule_posts(const fd_pipe_schedule *found, const fd_plan *plan,
                       bool *posted)
{
    if (found->posted == NULL
        || (found->blocking && plan->waiting == FD_WAIT_NEVER)) {
        return false;
    }
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        posted[i] = !found->blocking;
    }
    return true;
}

fd_status
fd_pipe_find_schedule(fd_pipe_schedule *found, const fd_pipe *p,
                      const fd_pipe_idle *idle, fd_schedule named)
{
    if (idle->drawn < 0) {
        return FD_OK;
    }
    found->micro_batches = count_micro_batches(p, (uint32_t)idle->drawn);
    if (found->micro_batches == 0) {
        return FD_OK;
    }
    fd_status status = find_schedule(found, p, idle, named);
    if (status == FD_OK && found->known) {
        status = measure_schedule(found, p, idle);
    }
    if (status == FD_OK && found->known && has_moves(p)) {
        status = find_posted(found, p, idle);
    }
    return status;
}

void
fd_pipe_schedule_clear(fd_pipe_schedule *found)
{
    fd_plan_clear(&found->plan);
    fd_free(found->times);
    fd_free(found->posted);
    for (int kind = 0; kind < FD_JOB_KINDS; kind++) {
        fd_free(found->prices[kind]);
    }
    *found = (fd_pipe_schedule){.known = false};
}
