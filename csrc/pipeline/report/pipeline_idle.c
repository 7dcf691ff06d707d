#include "pipeline/report/pipeline_idle.h"

#include "base/map.h"
#include "pipeline/report/pipeline_dependencies.h"

const char *const fd_pipe_part_names[FD_PARTS] = {
    [FD_PART_BUSY] = "busy",           [FD_PART_WARM_UP] = "warm_up",
    [FD_PART_STEADY] = "steady",       [FD_PART_COOL_DOWN] = "cool_down",
    [FD_PART_TRANSFER] = "transfer",   [FD_PART_LAUNCH] = "launch",
    [FD_PART_LOAD] = "load",           [FD_PART_REDUCE] = "reduce",
    [FD_PART_OPTIMIZER] = "optimizer", [FD_PART_UNMATCHED] = "unmatched",
    [FD_PART_OTHER] = "other"};

/* One rank in one iteration. */
typedef struct sweep {
    fd_pipe_idle *idle;
    fd_pipe *p;
    fd_pipe_share *share;
    uint32_t at;        /* index of the rank */
    uint32_t iteration; /* index of the iteration */
    int64_t time;       /* end of the time counted so far */
    int64_t backward;   /* start of the first backward pass */
    int64_t forward;    /* end of the last forward pass */
    uint32_t latest;    /* the job that ended last */
    FD_VECTOR(uint32_t) open;
    fd_status status;
} sweep;

fd_pipe_part
fd_pipe_part_of(const fd_pipe_job *job)
{
    if (fd_pipe_computes(job)) {
        return FD_PART_BUSY;
    }
    if (fd_pipe_moves(job)) {
        return job->other == FD_NO_PIPE_JOB ? FD_PART_UNMATCHED
                                            : FD_PART_TRANSFER;
    }
    return job->kind == FD_JOB_LM                           ? FD_PART_LOAD
         : job->kind == FD_JOB_OPT                          ? FD_PART_OPTIMIZER
         : job->kind == FD_JOB_RT || job->kind == FD_JOB_RD ? FD_PART_REDUCE
                                                            : FD_PART_OTHER;
}

static fd_pipe_part
idle_phase(const sweep *s, int64_t time)
{
    return time < s->backward ? FD_PART_WARM_UP
         : time >= s->forward ? FD_PART_COOL_DOWN
                              : FD_PART_STEADY;
}

static void
count_idle(sweep *s, int64_t end, fd_pipe_part part, uint32_t job,
           uint32_t for_rank)
{
    if (end <= s->time) {
        return;
    }
    s->share->parts[part] += end - s->time;
    if (for_rank != FD_NO_PIPE_JOB && s->share->chosen) {
        uint32_t index = (uint32_t)s->p->ranks.list[for_rank].position;
        s->idle->waits[(size_t)s->at * s->p->stages + index] += end - s->time;
    }
    if (s->idle->drawn == (int32_t)s->iteration && s->status == FD_OK) {
        s->status = fd_vector_push(
            &s->idle->intervals,
            (fd_pipe_interval){.start = s->time,
                               .end = end,
                               .at = s->at,
                               .job = job,
                               .for_rank = for_rank,
                               .iteration = (int32_t)s->iteration,
                               .part = (uint8_t)part});
    }
    s->time = end;
}

static int64_t
earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Count the time within a job. If two jobs share a call, the later other end
 * determines the end of waiting. */
static void
count_job(sweep *s, uint32_t at, int64_t end)
{
    const fd_pipe_job *job = &s->p->jobs.list[at];
    if (fd_pipe_moves(job) && job->other != FD_NO_PIPE_JOB) {
        const fd_pipe_job *late = job;
        if ((job->flags & FD_PIPE_FUSED) != 0 && at > 0
            && fd_pipeline_is_same_call(job, job - 1)
            && job[-1].ready > job->ready) {
            late = job - 1;
        }
        count_idle(s, earlier_of(end, late->ready), idle_phase(s, s->time), at,
                   s->p->jobs.list[late->other].at);
    }
    count_idle(s, end, fd_pipe_part_of(job), at, FD_NO_PIPE_JOB);
}

/* Count the time between jobs; `next` is the following one. */
static void
count_gap(sweep *s, uint32_t next, uint32_t last, int64_t end)
{
    if (next == last) {
        count_idle(s, end, FD_PART_COOL_DOWN, FD_NO_PIPE_JOB, FD_NO_PIPE_JOB);
        return;
    }
    fd_pipe_dependency dependency =
        fd_pipeline_dependency(s->p, s->idle->producers, next, last);
    if (dependency.rank != FD_NO_PIPE_JOB) {
        count_idle(s, earlier_of(end, dependency.time), idle_phase(s, s->time),
                   FD_NO_PIPE_JOB, dependency.rank);
    }
    count_idle(s, end, FD_PART_LAUNCH, FD_NO_PIPE_JOB, FD_NO_PIPE_JOB);
}

static void
pop_ended(sweep *s)
{
    while (s->open.count > 0) {
        uint32_t top = s->open.list[s->open.count - 1];
        int64_t end = s->p->jobs.list[top].end;
        if (end > s->time) {
            return;
        }
        if (s->latest == FD_NO_PIPE_JOB
            || end >= s->p->jobs.list[s->latest].end) {
            s->latest = top;
        }
        s->open.count--;
    }
}

/* Count time up to `until`, before the job `next`. */
static void
drain_jobs(sweep *s, uint32_t next, uint32_t last, int64_t until)
{
    pop_ended(s);
    while (s->time < until) {
        if (s->open.count == 0) {
            count_gap(s, next, last, until);
        }
        else {
            uint32_t top = s->open.list[s->open.count - 1];
            count_job(s, top, earlier_of(s->p->jobs.list[top].end, until));
        }
        pop_ended(s);
    }
}

static void
find_phases(sweep *s, fd_pipe_cell cell)
{
    s->backward = INT64_MAX;
    s->forward = INT64_MIN;
    int64_t first = INT64_MAX;
    for (uint32_t i = cell.first; i < cell.end; i++) {
        const fd_pipe_job *job = &s->p->jobs.list[i];
        if (job->kind == FD_JOB_F) {
            s->forward = job->end > s->forward ? job->end : s->forward;
            first = earlier_of(first, job->start);
        }
        else if (job->kind == FD_JOB_B || job->kind == FD_JOB_I) {
            s->backward = earlier_of(s->backward, job->start);
        }
    }
    if (s->backward == INT64_MAX) {
        s->backward = first; /* there are only forward passes */
    }
}

static void
run_sweep(sweep *s)
{
    fd_pipe_cell cell = fd_pipeline_cell(s->p, s->at, s->iteration);
    find_phases(s, cell);
    s->time = s->share->start;
    s->latest = FD_NO_PIPE_JOB;
    s->open.count = 0;
    for (uint32_t i = cell.first; i < cell.end && s->status == FD_OK; i++) {
        fd_pipe_job *job = &s->p->jobs.list[i];
        drain_jobs(s, i, cell.end, job->start);
        job->before = s->latest;
        if (i > cell.first && fd_pipeline_is_same_call(job, job - 1)) {
            job->before = job[-1].before;
        }
        if (s->status == FD_OK) {
            s->status = fd_vector_push(&s->open, i);
        }
    }
    if (s->status == FD_OK) {
        drain_jobs(s, cell.end, cell.end, s->share->end);
    }
}

/* Memory of a rank that is kept for backward passes. */
typedef struct holding {
    fd_map slots; /* (stage, micro-batch) -> index in bytes + 1 */
    FD_VECTOR(uint64_t) bytes;
    uint32_t in_flight;
    uint64_t sum;
} holding;

static uint64_t *
bytes_of(holding *h, const fd_pipe_job *job)
{
    uint64_t key =
        ((uint64_t)(uint32_t)job->stage << 32 | (uint32_t)job->micro_batch)
        + 1;
    uint32_t slot = fd_map_get(&h->slots, key);
    if (slot != 0) {
        return &h->bytes.list[slot - 1];
    }
    if (fd_vector_push(&h->bytes, 0) != FD_OK
        || fd_map_put(&h->slots, key, h->bytes.count) != FD_OK) {
        return NULL;
    }
    return &h->bytes.list[h->bytes.count - 1];
}

static bool
has_weights_apart(const fd_pipe *p, fd_pipe_cell cell)
{
    for (uint32_t i = cell.first; i < cell.end; i++) {
        if (p->jobs.list[i].kind == FD_JOB_W) {
            return true;
        }
    }
    return false;
}

static fd_status
step_holding(holding *h, const fd_pipe_job *job, bool apart)
{
    if (job->micro_batch < 0 || job->stage < 0) {
        return FD_OK;
    }
    bool over = job->kind == FD_JOB_B || job->kind == FD_JOB_W
             || (job->kind == FD_JOB_I && !apart);
    if (over) {
        h->in_flight -= h->in_flight > 0;
    }
    h->in_flight += job->kind == FD_JOB_F;
    if (over || (fd_pipe_moves(job) && job->kind != FD_JOB_SG)) {
        uint64_t *bytes = bytes_of(h, job);
        if (bytes == NULL) {
            return FD_ENOMEM;
        }
        h->sum = over ? h->sum - *bytes : h->sum + job->bytes;
        *bytes = over ? 0 : *bytes + job->bytes;
    }
    return FD_OK;
}

/* Set two maxima over the jobs of a cell: the number of forward passes, over
 * all chunks, before their backward pass (W if separate), and the bytes of
 * activations and gradients transferred for them. */
static fd_status
find_in_flight(const fd_pipe *p, fd_pipe_cell cell, uint32_t *in_flight,
               uint64_t *bytes)
{
    holding h = {.in_flight = 0};
    bool apart = has_weights_apart(p, cell);
    fd_status status = FD_OK;
    *in_flight = 0;
    *bytes = 0;
    for (uint32_t i = cell.first; i < cell.end && status == FD_OK; i++) {
        status = step_holding(&h, &p->jobs.list[i], apart);
        *in_flight = h.in_flight > *in_flight ? h.in_flight : *in_flight;
        *bytes = h.sum > *bytes ? h.sum : *bytes;
    }
    fd_map_clear(&h.slots);
    fd_vector_clear(&h.bytes);
    return status;
}

static fd_status
sweep_all(fd_pipe_idle *idle, fd_pipe *p)
{
    sweep s = {.idle = idle, .p = p};
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            s.at = i;
            s.iteration = j;
            s.share = fd_pipe_share_of(idle->shares, p, i, j);
            if (s.status == FD_OK && s.share->end > s.share->start) {
                run_sweep(&s);
            }
            if (s.status == FD_OK) {
                s.status =
                    find_in_flight(p, fd_pipeline_cell(p, i, j),
                                   &s.share->in_flight, &s.share->bytes);
            }
        }
    }
    fd_vector_clear(&s.open);
    return s.status;
}

fd_status
fd_pipeline_idle(fd_pipe_idle *idle, fd_pipe *p, const fd_pipe_choice *choice)
{
    size_t cells = (size_t)p->ranks.count * p->iterations.count;
    idle->shares = fd_calloc(cells + 1, sizeof *idle->shares);
    idle->waits =
        fd_calloc((size_t)p->ranks.count * p->stages + 1, sizeof *idle->waits);
    idle->producers =
        fd_calloc((size_t)p->jobs.count + 1, sizeof *idle->producers);
    if (idle->shares == NULL || idle->waits == NULL
        || idle->producers == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_pipeline_find_producers(idle->producers, p);
    if (status == FD_OK) {
        idle->drawn = fd_pipeline_iteration_spans(idle->shares, p, choice);
        status = sweep_all(idle, p);
    }
    return status;
}

void
fd_pipe_idle_clear(fd_pipe_idle *idle)
{
    fd_free(idle->shares);
    fd_free(idle->waits);
    fd_free(idle->producers);
    fd_vector_clear(&idle->intervals);
    *idle = (fd_pipe_idle){.drawn = -1};
}
