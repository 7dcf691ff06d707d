#include "pipeline/report/pipeline_critical_path.h"

#include "pipeline/report/pipeline_dependencies.h"

#include <stdlib.h>

/* Maximum number of passes. More mean cyclic causes: the clocks are wrong. */
enum { MOST_PASSES = 64 };

/* The jobs of a line in an iteration, last begin first. */
typedef struct walk {
    fd_pipe_path *path;
    fd_pipe *p;
    const fd_pipe_idle *idle;
    uint32_t line;
    uint32_t iteration;
    int64_t start;
    int64_t end;
    FD_VECTOR(uint32_t) jobs;
    int64_t *ends; /* owned; per job of the pipeline, minus `base`: the latest
                    * end that does not delay the iteration */
    uint32_t base;
} walk;

static fd_pipe_job *
job_at(const walk *w, uint32_t at)
{
    return &w->p->jobs.list[at];
}

/* Return whether a transfer waited for its other end. */
static bool
is_bound(const walk *w, uint32_t at)
{
    const fd_pipe_job *job = job_at(w, at);
    return fd_pipe_moves(job) && job->other != FD_NO_PIPE_JOB
        && (job->flags & FD_PIPE_POSTED) == 0
        && !(fd_pipe_sends(job) && job_at(w, job->other)->start >= job->end
             && job->end > job->start);
}

static fd_status
add_piece(walk *w, int64_t start, int64_t end, uint32_t job, uint32_t at)
{
    start = start < w->start ? w->start : start;
    if (end <= start) {
        return FD_OK;
    }
    fd_pipe_part part = job == FD_NO_PIPE_JOB
                          ? FD_PART_LAUNCH
                          : fd_pipe_part_of(job_at(w, job));
    return fd_vector_push(&w->path->pieces,
                          (fd_pipe_piece){.start = start,
                                          .end = end,
                                          .job = job,
                                          .at = at,
                                          .part = (uint8_t)part});
}

/* Return the cause of the start of a job: the previous job of its rank, or the
 * producer of its input. */
static uint32_t
cause_of(const walk *w, uint32_t at)
{
    const fd_pipe_job *job = job_at(w, at);
    uint32_t before = job->before;
    uint32_t maker = w->idle->producers[at];
    if (maker != FD_NO_PIPE_JOB && job_at(w, maker)->end <= job->start
        && (before == FD_NO_PIPE_JOB
            || job_at(w, maker)->end > job_at(w, before)->end)) {
        return maker;
    }
    return before;
}

static void
turn_path(fd_pipe_path *path)
{
    for (uint32_t i = 0, j = path->pieces.count; i + 1 < j; i++) {
        fd_pipe_piece swapped = path->pieces.list[--j];
        path->pieces.list[j] = path->pieces.list[i];
        path->pieces.list[i] = swapped;
    }
}

/* Trace the path from the job that ends last back to the start. */
static fd_status
trace_back(walk *w)
{
    uint32_t at = FD_NO_PIPE_JOB;
    for (uint32_t i = 0; i < w->jobs.count; i++) {
        if (at == FD_NO_PIPE_JOB
            || job_at(w, w->jobs.list[i])->end > job_at(w, at)->end) {
            at = w->jobs.list[i];
        }
    }
    int64_t time = w->end;
    fd_status status = FD_OK;
    uint32_t rank = at == FD_NO_PIPE_JOB ? 0 : job_at(w, at)->at;
    while (at != FD_NO_PIPE_JOB && status == FD_OK
           && (job_at(w, at)->flags & FD_PIPE_ON_PATH) == 0) {
        fd_pipe_job *job = job_at(w, at);
        rank = job->at;
        status = add_piece(w, job->end, time, FD_NO_PIPE_JOB, rank);
        time = job->end < time ? job->end : time;
        job->flags |= FD_PIPE_ON_PATH;
        int64_t begin = is_bound(w, at) ? job->ready : job->start;
        begin = begin < time ? begin : time;
        fd_then(status, add_piece(w, begin, time, at, rank));
        time = begin;
        if (is_bound(w, at) && job->ready > job->start) {
            at = job->other;
            fd_pipe_job *other = job_at(w, at);
            other->flags |= FD_PIPE_ON_PATH;
            time = other->start < time ? other->start : time;
            rank = other->at;
        }
        at = cause_of(w, at);
    }
    fd_then(status, add_piece(w, w->start, time, FD_NO_PIPE_JOB, rank));
    turn_path(w->path);
    return status;
}

static int64_t *
end_of(const walk *w, uint32_t at)
{
    return &w->ends[at - w->base];
}

static bool
lower_end(walk *w, uint32_t at, int64_t end)
{
    int64_t *now = end_of(w, at);
    bool changed = end < *now;
    *now = changed ? end : *now;
    return changed;
}

/* Return the latest start of one end of a transfer, or of another job. */
static int64_t
latest_start(const walk *w, uint32_t at)
{
    const fd_pipe_job *job = job_at(w, at);
    int64_t start = *end_of(w, at) - (job->end - job->ready);
    if (job->other == FD_NO_PIPE_JOB) {
        return start;
    }
    /* The transfer must end early enough for all jobs that wait for it. */
    const fd_pipe_job *other = job_at(w, job->other);
    if (is_bound(w, job->other)) {
        int64_t theirs = *end_of(w, job->other) - (other->end - other->ready);
        start = theirs < start ? theirs : start;
    }
    return start;
}

/* Apply the latest start of `at` to the jobs before it. */
static bool
relax_job(walk *w, uint32_t at)
{
    const fd_pipe_job *job = job_at(w, at);
    int64_t start = latest_start(w, at);
    uint32_t before = job->before;
    uint32_t maker = w->idle->producers[at];
    int64_t free = INT64_MIN; /* earliest start */
    if (before != FD_NO_PIPE_JOB) {
        free = job_at(w, before)->end;
    }
    if (maker != FD_NO_PIPE_JOB && job_at(w, maker)->end <= job->start
        && job_at(w, maker)->end > free) {
        free = job_at(w, maker)->end;
    }
    if (free == INT64_MIN) {
        return false;
    }
    bool changed = false;
    int64_t allowed = start - (job->start - free);
    if (before != FD_NO_PIPE_JOB) {
        changed = lower_end(w, before, allowed);
        const fd_pipe_job *last = job_at(w, before);
        if (before > w->base && fd_pipeline_is_same_call(last, last - 1)) {
            changed = lower_end(w, before - 1, allowed) || changed;
        }
    }
    if (maker != FD_NO_PIPE_JOB) {
        changed = lower_end(w, maker, allowed) || changed;
    }
    return changed;
}

static fd_status
find_slack(walk *w)
{
    uint32_t past = w->base;
    for (uint32_t i = 0; i < w->jobs.count; i++) {
        past = w->jobs.list[i] >= past ? w->jobs.list[i] + 1 : past;
    }
    w->ends = fd_calloc((size_t)(past - w->base) + 1, sizeof *w->ends);
    if (w->ends == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = w->base; i < past; i++) {
        *end_of(w, i) = w->end;
    }
    bool changed = true;
    for (int pass = 0; changed && pass < MOST_PASSES; pass++) {
        changed = false;
        for (uint32_t i = 0; i < w->jobs.count; i++) {
            changed = relax_job(w, w->jobs.list[i]) || changed;
        }
    }
    for (uint32_t i = 0; i < w->jobs.count; i++) {
        fd_pipe_job *job = job_at(w, w->jobs.list[i]);
        int64_t slack = *end_of(w, w->jobs.list[i]) - job->end;
        job->slack = slack > 0 ? slack : 0;
    }
    return FD_OK;
}

/* All jobs are in one array. */
FD_ORDER_POINTERS(by_start, fd_pipe_job, FD_DOWN(start), FD_ORDER(other, one))

/* Collect all jobs of the line, sorted by begin, the latest first. */
static fd_status
gather_jobs(walk *w)
{
    const fd_pipe *p = w->p;
    FD_VECTOR(const fd_pipe_job *) jobs = {NULL, 0, 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        fd_pipe_cell cell = fd_pipeline_cell(p, i, w->iteration);
        if (p->ranks.list[i].line != w->line || cell.end == cell.first) {
            continue;
        }
        const fd_pipe_share *share =
            fd_pipe_share_of(w->idle->shares, p, i, w->iteration);
        w->start = share->start;
        w->end = share->end;
        for (uint32_t j = cell.first; j < cell.end && status == FD_OK; j++) {
            status = fd_vector_push(&jobs, &p->jobs.list[j]);
        }
    }
    if (status == FD_OK && jobs.count > 0) {
        qsort(jobs.list, jobs.count, sizeof *jobs.list, by_start);
        w->base = UINT32_MAX;
        status = fd_vector_reserve(&w->jobs, jobs.count);
    }
    for (uint32_t i = 0; i < jobs.count && status == FD_OK; i++) {
        uint32_t at = (uint32_t)(jobs.list[i] - p->jobs.list);
        w->base = at < w->base ? at : w->base;
        w->jobs.list[w->jobs.count++] = at;
    }
    fd_vector_clear(&jobs);
    return status;
}

fd_status
fd_pipeline_path(fd_pipe_path *path, fd_pipe *p, const fd_pipe_idle *idle,
                 uint32_t line, uint32_t iteration)
{
    walk w = {.path = path,
              .p = p,
              .idle = idle,
              .line = line,
              .iteration = iteration};
    fd_status status = gather_jobs(&w);
    if (status == FD_OK && w.jobs.count > 0) {
        status = trace_back(&w);
    }
    if (status == FD_OK && w.jobs.count > 0) {
        status = find_slack(&w);
    }
    fd_vector_clear(&w.jobs);
    fd_free(w.ends);
    return status;
}

void
fd_pipe_path_clear(fd_pipe_path *path)
{
    fd_vector_clear(&path->pieces);
}
