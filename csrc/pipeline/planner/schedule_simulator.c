#include "pipeline/planner/schedule_simulator.h"

#include <math.h>
#include <string.h>

/* While the jobs are put in order. */
typedef struct sorter {
    fd_rehearsal *to;
    uint32_t *at;   /* owned; a rank: its next job in the plan */
    uint32_t *made; /* owned; direction, part, micro-batch: the job that
                          makes the data, place + 1 */
} sorter;

static uint32_t *
maker(const sorter *s, bool back, uint32_t part, int32_t micro_batch)
{
    const fd_plan *plan = &s->to->plan;
    size_t row = (back ? fd_plan_globals(plan) : 0) + part;
    return &s->made[row * plan->micro_batches + (uint32_t)micro_batch];
}

/* The next computation of a rank, where what it needs is there. */
static bool
place_next(sorter *s, uint32_t rank)
{
    fd_rehearsal *to = s->to;
    const fd_plan *plan = &to->plan;
    fd_rehearsal_job new = {.before = to->last[rank]};
    uint32_t at = s->at[rank];
    for (; at < plan->first[rank + 1]; at++) {
        const fd_plan_job *job = &plan->jobs.list[at];
        if (job->kind == FD_JOB_RA || job->kind == FD_JOB_RG) {
            bool back = job->kind == FD_JOB_RG;
            new.data = *maker(s, back, (uint32_t)job->peer, job->micro_batch);
            new.link = (uint16_t)(back ? job->peer : job->stage);
            if (new.data == 0) {
                return false;
            }
        }
        else if (fd_job_is_compute((fd_job_kind)job->kind)) {
            new.part = (uint16_t)job->stage;
            new.kind = job->kind;
            to->jobs[to->count++] = new;
            to->last[rank] = to->count;
            if (job->kind != FD_JOB_W) {
                *maker(s, job->kind != FD_JOB_F, new.part, job->micro_batch) =
                    to->count;
            }
            s->at[rank] = at + 1;
            return true;
        }
    }
    s->at[rank] = at;
    return false;
}

static void
sort_jobs(sorter *s)
{
    const fd_plan *plan = &s->to->plan;
    memcpy(s->at, plan->first, plan->stages * sizeof *s->at);
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t rank = 0; rank < plan->stages; rank++) {
            while (place_next(s, rank)) {
                more = true;
            }
        }
    }
}

static bool
is_within(const uint32_t *hold, const uint32_t *other, uint32_t width)
{
    bool within = hold[0] == other[0];
    for (uint32_t i = 1; i < width; i++) {
        within = within && hold[i] <= other[i];
    }
    return within;
}

/* Keep what a rank holds now, unless it is within what is known. */
static fd_status
keep_hold(fd_rehearsal *to, const uint32_t *now, uint32_t width)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < to->holds.count; at += width) {
        const uint32_t *known = &to->holds.list[at];
        if (is_within(now, known, width)) {
            return FD_OK;
        }
        if (!is_within(known, now, width)) {
            memmove(&to->holds.list[kept], known, width * sizeof *known);
            kept += width;
        }
    }
    to->holds.count = kept;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < width && status == FD_OK; i++) {
        status = fd_vector_push(&to->holds, now[i]);
    }
    return status;
}

static fd_status
find_holds(fd_rehearsal *to)
{
    const fd_plan *plan = &to->plan;
    uint32_t width = plan->chunks + 1;
    uint32_t *now = fd_calloc(width, sizeof *now);
    fd_status status = now == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t rank = 0; rank < plan->stages && status == FD_OK; rank++) {
        memset(now, 0, width * sizeof *now);
        now[0] = rank;
        for (uint32_t i = plan->first[rank];
             i < plan->first[rank + 1] && status == FD_OK; i++) {
            const fd_plan_job *job = &plan->jobs.list[i];
            uint32_t *count = &now[1 + (uint32_t)job->stage / plan->stages];
            if (job->kind == FD_JOB_F) {
                ++*count;
                status = keep_hold(to, now, width);
            }
            else if (job->kind == FD_JOB_B || job->kind == FD_JOB_W) {
                --*count;
            }
        }
    }
    fd_free(now);
    return status;
}

void
fd_rehearsal_clear(fd_rehearsal *rehearsal)
{
    fd_plan_clear(&rehearsal->plan);
    fd_free(rehearsal->jobs);
    fd_free(rehearsal->last);
    fd_free(rehearsal->ends);
    fd_vector_clear(&rehearsal->holds);
    *rehearsal = (fd_rehearsal){.count = 0};
}

fd_status
fd_rehearsal_make(fd_rehearsal *rehearsal, const fd_plan_request *request,
                  fd_error *error)
{
    *rehearsal = (fd_rehearsal){.count = 0};
    fd_status status = fd_plan_make(&rehearsal->plan, request, error);
    if (status != FD_OK) {
        return status;
    }
    const fd_plan *plan = &rehearsal->plan;
    size_t jobs = plan->jobs.count;
    size_t makers = 2 * (size_t)fd_plan_globals(plan) * plan->micro_batches;
    sorter s = {.to = rehearsal,
                .at = fd_calloc(plan->stages, sizeof *s.at),
                .made = fd_calloc(makers, sizeof *s.made)};
    rehearsal->jobs = fd_calloc(jobs, sizeof *rehearsal->jobs);
    rehearsal->last = fd_calloc(plan->stages, sizeof *rehearsal->last);
    rehearsal->ends = fd_calloc(jobs, sizeof *rehearsal->ends);
    bool made = s.at != NULL && s.made != NULL && rehearsal->jobs != NULL
             && rehearsal->last != NULL && rehearsal->ends != NULL;
    status = made ? FD_OK : FD_ENOMEM;
    if (status == FD_OK) {
        sort_jobs(&s);
        status = find_holds(rehearsal);
    }
    fd_free(s.at);
    fd_free(s.made);
    return status;
}

static double
time_of(const fd_part *part, uint8_t kind)
{
    return kind == FD_JOB_F ? part->forward
         : kind == FD_JOB_B ? part->backward
                            : part->backward / 2;
}

static double
reduce_of(const fd_plan *plan, uint32_t rank, const fd_part *parts)
{
    double time = 0;
    for (uint32_t part = 0; part < fd_plan_globals(plan); part++) {
        time += fd_plan_holder(plan, part) == rank ? parts[part].reduce : 0;
    }
    return time;
}

double
fd_rehearsal_time(const fd_rehearsal *rehearsal, const fd_part *parts)
{
    const fd_plan *plan = &rehearsal->plan;
    double *ends = rehearsal->ends;
    double all = 0;
    for (uint32_t i = 0; i < rehearsal->count; i++) {
        const fd_rehearsal_job *job = &rehearsal->jobs[i];
        double begin = job->before == 0 ? 0 : ends[job->before - 1];
        if (job->data != 0) {
            begin =
                fmax(begin, ends[job->data - 1] + parts[job->link].transfer);
        }
        ends[i] = begin + time_of(&parts[job->part], job->kind);
    }
    for (uint32_t rank = 0; rank < plan->stages; rank++) {
        all = fmax(all, ends[rehearsal->last[rank] - 1]
                            + reduce_of(plan, rank, parts));
    }
    return all;
}

double
fd_rehearsal_memory(const fd_rehearsal *rehearsal, uint32_t rank,
                    const fd_part *parts)
{
    const fd_plan *plan = &rehearsal->plan;
    uint32_t width = plan->chunks + 1;
    double kept = 0;
    double most = 0;
    for (uint32_t at = 0; at < rehearsal->holds.count; at += width) {
        const uint32_t *hold = &rehearsal->holds.list[at];
        double saved = 0;
        for (uint32_t part = 0;
             hold[0] == rank && part < fd_plan_globals(plan); part++) {
            if (fd_plan_holder(plan, part) == rank) {
                saved += hold[1 + part / plan->stages] * parts[part].saved;
            }
        }
        most = fmax(most, saved);
    }
    for (uint32_t part = 0; part < fd_plan_globals(plan); part++) {
        kept += fd_plan_holder(plan, part) == rank ? parts[part].kept : 0;
    }
    return kept + most;
}
