#include "pipeline/plan_comparison.h"

#include <stdio.h>

/* A track: jobs that are compared in order. */
typedef struct track {
    bool all;      /* contains all jobs */
    bool compute;  /* otherwise: computations, */
    uint8_t kind;  /* or transfers of this kind */
    int16_t stage; /* and global stage */
} track;

typedef struct row {
    uint8_t kind;
    int16_t stage;
    int32_t micro_batch;
    int32_t buffer;
    uint32_t index; /* index in the recorded jobs */
    uint32_t parts; /* 2: a W directly after its I */
} row;

typedef FD_VECTOR(row) row_list;

static bool
is_in(const track *lane, uint8_t kind, int16_t stage)
{
    if (lane->all) {
        return true;
    }
    return lane->compute ? fd_job_is_compute((fd_job_kind)kind)
                         : kind == lane->kind && stage == lane->stage;
}

static fd_status
add_row(row_list *rows, row made)
{
    row *last = rows->count > 0 ? &rows->list[rows->count - 1] : NULL;
    if (last != NULL && made.kind == FD_JOB_W && last->kind == FD_JOB_I
        && last->stage == made.stage
        && last->micro_batch == made.micro_batch) {
        last->kind = FD_JOB_B;
        last->parts = made.index - last->index + 1;
        return FD_OK;
    }
    return fd_vector_push(rows, made);
}

static fd_status
rows_of_plan(row_list *rows, const fd_plan *plan, uint32_t stage,
             const track *lane)
{
    fd_status status = FD_OK;
    for (uint32_t i = plan->first[stage];
         i < plan->first[stage + 1] && status == FD_OK; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (is_in(lane, job->kind, job->stage)) {
            status = add_row(rows, (row){job->kind, job->stage,
                                         job->micro_batch, job->buffer, i, 1});
        }
    }
    return status;
}

static fd_status
rows_of_run(row_list *rows, const fd_executed *jobs, uint32_t count,
            const track *lane)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        if (is_in(lane, jobs[i].kind, jobs[i].stage)) {
            status = add_row(rows,
                             (row){jobs[i].kind, jobs[i].stage,
                                   jobs[i].micro_batch, jobs[i].buffer, i, 1});
        }
    }
    return status;
}

static bool
number_differs(int32_t a, int32_t b)
{
    return a >= 0 && b >= 0 && a != b;
}

static bool
are_equal(const row *ran, const row *planned)
{
    return ran->kind == planned->kind
        && !number_differs(ran->stage, planned->stage)
        && !number_differs(ran->micro_batch, planned->micro_batch)
        && !number_differs(ran->buffer, planned->buffer);
}

static int
say_job(char *to, size_t capacity, const row *job)
{
    int size =
        snprintf(to, capacity, "%s", fd_job_kind_name((fd_job_kind)job->kind));
    if (job->micro_batch >= 0 && size < (int)capacity) {
        size += snprintf(to + size, capacity - (size_t)size,
                         " of micro-batch %d", job->micro_batch);
    }
    if (job->buffer >= 0 && size < (int)capacity) {
        size += snprintf(to + size, capacity - (size_t)size, " in buffer %d",
                         job->buffer);
    }
    return size;
}

static void
note_difference(char *text, size_t capacity, int32_t stage, uint32_t at,
                const row *ran, const row *planned)
{
    char done[80] = "nothing";
    char meant[80] = "nothing";
    if (ran != NULL) {
        say_job(done, sizeof done, ran);
    }
    if (planned != NULL) {
        say_job(meant, sizeof meant, planned);
    }
    snprintf(text, capacity, "stage %d, job %u: ran %s, planned %s", stage,
             at + 1, done, meant);
}

/* Realign after a difference: find the recorded job later in the plan, and the
 * planned job later in the recording. The nearer match decides which of the
 * two lists has additional jobs. */
static void
realign_rows(const row_list *ran, const row_list *planned, uint32_t *at,
             uint32_t *next)
{
    for (uint32_t far = 1; far < 64; far++) {
        if (*at + far < ran->count
            && are_equal(&ran->list[*at + far], &planned->list[*next])) {
            *at += far;
            return;
        }
        if (*next + far < planned->count
            && are_equal(&ran->list[*at], &planned->list[*next + far])) {
            *next += far;
            return;
        }
    }
    ++*at;
    ++*next;
}

/* Return the global stage for which a difference is reported. */
static int32_t
stage_of(const row *ran, const row *planned, uint32_t stage)
{
    if (ran != NULL && ran->stage >= 0) {
        return ran->stage;
    }
    return planned != NULL ? planned->stage : (int32_t)stage;
}

static void
walk_rows(fd_executed *jobs, uint32_t count, const row_list *ran,
          const row_list *planned, uint32_t stage, char *text, size_t capacity)
{
    uint32_t at = 0;
    uint32_t next = 0;
    while (at < ran->count || next < planned->count) {
        const row *done = at < ran->count ? &ran->list[at] : NULL;
        const row *meant = next < planned->count ? &planned->list[next] : NULL;
        if (done != NULL && meant != NULL && are_equal(done, meant)) {
            at++;
            next++;
            continue;
        }
        if (text[0] == '\0') {
            note_difference(text, capacity, stage_of(done, meant, stage),
                            done != NULL ? done->index : count, done, meant);
        }
        if (done == NULL) {
            return;
        }
        uint32_t from = at;
        if (meant == NULL) {
            at++;
        }
        else {
            realign_rows(ran, planned, &at, &next);
        }
        for (uint32_t i = from; i < at && i < ran->count; i++) {
            for (uint32_t part = 0; part < ran->list[i].parts; part++) {
                jobs[ran->list[i].index + part].unplanned = true;
            }
        }
    }
}

static fd_status
compare_lane(fd_executed *jobs, uint32_t count, const fd_plan *plan,
             uint32_t stage, const track *lane, char *text, size_t capacity)
{
    row_list ran = {NULL, 0, 0};
    row_list planned = {NULL, 0, 0};
    fd_status status = rows_of_run(&ran, jobs, count, lane);
    fd_then(status, rows_of_plan(&planned, plan, stage, lane));
    if (status == FD_OK) {
        walk_rows(jobs, count, &ran, &planned, stage, text, capacity);
    }
    fd_vector_clear(&ran);
    fd_vector_clear(&planned);
    return status;
}

fd_status
fd_executed_compare(fd_executed *jobs, uint32_t count, const fd_plan *plan,
                    uint32_t stage, char *text, size_t capacity)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        jobs[i].unplanned = false;
    }
    if (plan->waiting == FD_WAIT_EACH) {
        track all = {.all = true};
        return compare_lane(jobs, count, plan, stage, &all, text, capacity);
    }
    track compute = {.compute = true};
    fd_status status =
        compare_lane(jobs, count, plan, stage, &compute, text, capacity);
    for (uint32_t global = 0;
         global < fd_plan_globals(plan) && status == FD_OK; global++) {
        if (fd_plan_holder(plan, global) != stage) {
            continue;
        }
        for (uint8_t kind = FD_JOB_SA; kind <= FD_JOB_RG && status == FD_OK;
             kind++) {
            track transfers = {.kind = kind, .stage = (int16_t)global};
            status = compare_lane(jobs, count, plan, stage, &transfers, text,
                                  capacity);
        }
    }
    return status;
}
