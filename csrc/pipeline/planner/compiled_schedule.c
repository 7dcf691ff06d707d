#include "pipeline/planner/compiled_schedule.h"

#include <math.h>
#include <string.h>

/* The durations of a part. */
enum { FORWARD, BACKWARD, HALF_BACKWARD, PART_DURATIONS };

/* Return where to store, + 1, the job that computes the data of a direction,
 * part and micro-batch. */
static uint32_t *
producer(const fd_plan *plan, uint32_t *producers, bool back, uint32_t part,
         int32_t micro_batch)
{
    size_t row = (back ? fd_plan_globals(plan) : 0) + part;
    return &producers[row * plan->micro_batches + (uint32_t)micro_batch];
}

static void
find_producers(const fd_plan *plan, uint32_t *producers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (!fd_job_is_compute((fd_job_kind)job->kind)) {
            continue;
        }
        count++;
        if (job->kind != FD_JOB_W) {
            *producer(plan, producers, job->kind != FD_JOB_F,
                      (uint32_t)job->stage, job->micro_batch) = count;
        }
    }
}

static fd_status
add_computation(fd_simulation *s, const fd_plan_job *job)
{
    uint32_t duration = job->kind == FD_JOB_F ? FORWARD
                      : job->kind == FD_JOB_B ? BACKWARD
                                              : HALF_BACKWARD;
    uint32_t before = s->jobs.count;
    bool first = s->resources.list[s->resources.count - 1] == before;
    fd_status status =
        fd_sim_add_job(s, (uint32_t)job->stage * PART_DURATIONS + duration);
    return status != FD_OK || first ? status : fd_sim_depend(s, before - 1, 0);
}

/* Add the computations of a rank. A receive is a dependency of the next
 * one. */
static fd_status
add_rank(fd_compiled *to, uint32_t rank, uint32_t *producers)
{
    const fd_plan *plan = &to->plan;
    fd_simulation *s = &to->simulation;
    const fd_plan_job *received = NULL;
    fd_status status = fd_sim_add_resource(s);
    for (uint32_t i = plan->first[rank];
         i < plan->first[rank + 1] && status == FD_OK; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (job->kind == FD_JOB_RA || job->kind == FD_JOB_RG) {
            received = job;
        }
        else if (fd_job_is_compute((fd_job_kind)job->kind)) {
            status = add_computation(s, job);
            if (status == FD_OK && received != NULL) {
                bool back = received->kind == FD_JOB_RG;
                uint32_t data =
                    *producer(plan, producers, back, (uint32_t)received->peer,
                              received->micro_batch);
                int16_t link = back ? received->peer : received->stage;
                status = data == 0
                           ? FD_EINVAL
                           : fd_sim_depend(s, data - 1, (uint32_t)link + 1);
            }
            received = NULL;
        }
    }
    return status;
}

static fd_status
add_jobs(fd_compiled *to)
{
    const fd_plan *plan = &to->plan;
    size_t rows = 2 * (size_t)fd_plan_globals(plan);
    uint32_t *producers =
        fd_calloc(rows * plan->micro_batches, sizeof *producers);
    fd_status status = producers == NULL ? FD_ENOMEM : FD_OK;
    if (status == FD_OK) {
        find_producers(plan, producers);
    }
    for (uint32_t rank = 0; rank < plan->stages && status == FD_OK; rank++) {
        status = add_rank(to, rank, producers);
    }
    fd_free(producers);
    return status;
}

static bool
is_within(const uint32_t *entry, const uint32_t *other, uint32_t width)
{
    bool within = entry[0] == other[0];
    for (uint32_t i = 1; i < width; i++) {
        within = within && entry[i] <= other[i];
    }
    return within;
}

/* Add the passes in flight of a rank, unless an entry contains them. */
static fd_status
add_in_flight(fd_compiled *to, const uint32_t *now, uint32_t width)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < to->in_flight.count; at += width) {
        const uint32_t *known = &to->in_flight.list[at];
        if (is_within(now, known, width)) {
            return FD_OK;
        }
        if (!is_within(known, now, width)) {
            memmove(&to->in_flight.list[kept], known, width * sizeof *known);
            kept += width;
        }
    }
    to->in_flight.count = kept;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < width && status == FD_OK; i++) {
        status = fd_vector_push(&to->in_flight, now[i]);
    }
    return status;
}

static fd_status
find_in_flight(fd_compiled *to)
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
                status = add_in_flight(to, now, width);
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
fd_compiled_clear(fd_compiled *compiled)
{
    fd_plan_clear(&compiled->plan);
    fd_sim_clear(&compiled->simulation);
    fd_free(compiled->durations);
    fd_free(compiled->lags);
    fd_vector_clear(&compiled->in_flight);
    *compiled = (fd_compiled){.durations = NULL};
}

fd_status
fd_compiled_make(fd_compiled *compiled, const fd_plan_request *request,
                 fd_error *error)
{
    *compiled = (fd_compiled){.durations = NULL};
    fd_status status = fd_plan_make(&compiled->plan, request, error);
    if (status != FD_OK) {
        return status;
    }
    size_t parts = fd_plan_globals(&compiled->plan);
    compiled->durations =
        fd_calloc(parts * PART_DURATIONS, sizeof *compiled->durations);
    compiled->lags = fd_calloc(parts + 1, sizeof *compiled->lags);
    status = compiled->durations == NULL || compiled->lags == NULL
               ? FD_ENOMEM
               : add_jobs(compiled);
    if (status == FD_OK) {
        status = fd_sim_prepare(&compiled->simulation);
    }
    if (status == FD_OK && !fd_sim_order(&compiled->simulation)) {
        status = FD_EINVAL;
    }
    return status == FD_OK ? find_in_flight(compiled) : status;
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

/* Return the sum of the times of all jobs and transfers. */
static double
sum_of(const fd_plan *plan, const fd_part *parts)
{
    double all = 0;
    for (uint32_t i = 0; i < fd_plan_globals(plan); i++) {
        all += parts[i].forward + parts[i].backward + 2 * parts[i].transfer;
    }
    return all * plan->micro_batches;
}

/* Convert seconds to integers, scaled by a power of two so that their sum is
 * below 2^61. */
static int
set_times(const fd_compiled *compiled, const fd_part *parts, double all)
{
    enum { LEAST_POWER = -900 }; /* the scale stays finite */
    uint32_t count = fd_plan_globals(&compiled->plan);
    int power;
    frexp(all, &power);
    power = power < LEAST_POWER ? LEAST_POWER : power;
    double scale = ldexp(1, 60 - power);
    for (uint32_t i = 0; i < count; i++) {
        int64_t *durations = &compiled->durations[i * PART_DURATIONS];
        durations[FORWARD] = (int64_t)(parts[i].forward * scale);
        durations[BACKWARD] = (int64_t)(parts[i].backward * scale);
        durations[HALF_BACKWARD] = (int64_t)(parts[i].backward / 2 * scale);
        compiled->lags[i + 1] = (int64_t)(parts[i].transfer * scale);
    }
    return power - 60;
}

double
fd_compiled_time(fd_compiled *compiled, const fd_part *parts)
{
    const fd_plan *plan = &compiled->plan;
    fd_simulation *s = &compiled->simulation;
    double all = sum_of(plan, parts);
    if (!isfinite(all)) {
        return INFINITY;
    }
    int power = set_times(compiled, parts, all);
    all = 0;
    fd_sim_run(s, compiled->durations, compiled->lags);
    for (uint32_t rank = 0; rank < plan->stages; rank++) {
        int64_t end = s->ends[fd_sim_end_of(s, rank) - 1];
        all = fmax(all,
                   ldexp((double)end, power) + reduce_of(plan, rank, parts));
    }
    return all;
}

double
fd_compiled_memory(const fd_compiled *compiled, uint32_t rank,
                   const fd_part *parts)
{
    const fd_plan *plan = &compiled->plan;
    uint32_t width = plan->chunks + 1;
    double kept = 0;
    double most = 0;
    for (uint32_t at = 0; at < compiled->in_flight.count; at += width) {
        const uint32_t *entry = &compiled->in_flight.list[at];
        double saved = 0;
        for (uint32_t part = 0;
             entry[0] == rank && part < fd_plan_globals(plan); part++) {
            if (fd_plan_holder(plan, part) == rank) {
                saved += entry[1 + part / plan->stages] * parts[part].saved;
            }
        }
        most = fmax(most, saved);
    }
    for (uint32_t part = 0; part < fd_plan_globals(plan); part++) {
        kept += fd_plan_holder(plan, part) == rank ? parts[part].kept : 0;
    }
    return kept + most;
}
