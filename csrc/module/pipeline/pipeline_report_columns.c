/* The tables of a report on a pipeline, as columns. */
#include "module/pipeline/pipeline_report_binding.h"

#include "base/alloc.h"
#include "module/field_tables.h"
#include "trace/trace_columns.h"

#define TABLE(columns, row) FD_TABLE(NULL, columns, row, false)

/* Return the number of a rank for a column, or -1. */
static int64_t
rank_number(const fd_pipe *p, uint32_t at)
{
    return at == FD_NO_PIPE_JOB ? -1 : (int64_t)p->ranks.list[at].rank;
}

/* Convert rows to columns and free `rows`. */
static PyObject *
columns_of(const fd_table *table, void *rows, uint32_t count)
{
    PyObject *made =
        rows == NULL ? PyErr_NoMemory() : fd_columns(table, rows, count, NULL);
    fd_free(rows);
    return made;
}

PyObject *
fd_pipeline_ranks_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {
        FD_COLUMN(fd_pipe_rank, "rank", U32, rank),
        FD_COLUMN(fd_pipe_rank, "stage", I32, position),
        FD_COLUMN(fd_pipe_rank, "line", U32, line),
        FD_COLUMN(fd_pipe_rank, "data", I32, data),
        FD_COLUMN(fd_pipe_rank, "model", I32, model),
        FD_COLUMN(fd_pipe_rank, "open", U32, open),
        FD_COLUMN(fd_pipe_rank, "killed", BOOL, killed),
        FD_COLUMN(fd_pipe_rank, "moved_ns", I64, moved),
        FD_COLUMN(fd_pipe_rank, "unsure_ns", I64, unsure)};
    static const fd_table table = TABLE(columns, fd_pipe_rank);
    const fd_pipe *p = &report->pipeline;
    PyObject *jobs = PyList_New(0);
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        const fd_pipe_rank *rank = &p->ranks.list[i];
        jobs = fd_list_with(jobs,
                            PyLong_FromUnsignedLong(rank->end - rank->first));
    }
    return fd_columns_with(
        fd_columns(&table, p->ranks.list, p->ranks.count, NULL), "jobs", jobs);
}

/* The figures of a rank in an iteration. */
typedef struct share_row {
    fd_pipe_share share;
    uint32_t rank;
    int32_t iteration;
} share_row;

#define SHARE(name, type, field) FD_COLUMN(share_row, name, type, share.field)
#define PART(name, part) SHARE(name, I64, parts[part])

PyObject *
fd_pipeline_shares_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {
        FD_COLUMN(share_row, "rank", U32, rank),
        FD_COLUMN(share_row, "iteration", I32, iteration),
        SHARE("start", I64, start),
        SHARE("end", I64, end),
        SHARE("in_flight", U32, in_flight),
        SHARE("bytes", U64, bytes),
        SHARE("whole", BOOL, whole),
        SHARE("chosen", BOOL, chosen),
        PART("busy", FD_PART_BUSY),
        PART("warm_up", FD_PART_WARM_UP),
        PART("steady", FD_PART_STEADY),
        PART("cool_down", FD_PART_COOL_DOWN),
        PART("transfer", FD_PART_TRANSFER),
        PART("launch", FD_PART_LAUNCH),
        PART("load", FD_PART_LOAD),
        PART("reduce", FD_PART_REDUCE),
        PART("optimizer", FD_PART_OPTIMIZER),
        PART("unmatched", FD_PART_UNMATCHED),
        PART("other", FD_PART_OTHER)};
    static const fd_table table = TABLE(columns, share_row);
    const fd_pipe *p = &report->pipeline;
    uint32_t count = 0;
    share_row *rows = fd_calloc(
        (size_t)p->ranks.count * p->iterations.count + 1, sizeof *rows);
    for (uint32_t i = 0; i < p->ranks.count && rows != NULL; i++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            fd_pipe_cell cell = fd_pipeline_cell(p, i, j);
            if (cell.end > cell.first) {
                rows[count++] = (share_row){
                    .share = *fd_pipe_share_of(report->idle.shares, p, i, j),
                    .rank = p->ranks.list[i].rank,
                    .iteration = p->iterations.list[j]};
            }
        }
    }
    return columns_of(&table, rows, count);
}

/* An interval, or a part of the critical path. */
typedef struct span_row {
    int64_t rank, start, end, job, waits_for;
    uint8_t part;
} span_row;

static const fd_column span_columns[] = {
    FD_COLUMN(span_row, "rank", I64, rank),
    FD_COLUMN(span_row, "start", I64, start),
    FD_COLUMN(span_row, "end", I64, end),
    FD_COLUMN_OF_NAMES(span_row, "part", U8, part, fd_pipe_part_names),
    FD_COLUMN(span_row, "job", I64, job),
    FD_COLUMN(span_row, "waits_for", I64, waits_for)};
static const fd_table span_table = TABLE(span_columns, span_row);

static fd_pipe_cell
drawn_cell(const fd_pipe_report *report, uint32_t at)
{
    return fd_pipeline_cell(&report->pipeline, at,
                            (uint32_t)report->idle.drawn);
}

/* Return the index of a job in the rows of fd_pipeline_jobs_py, or -1. */
static int64_t
job_row_of(const fd_pipe_report *report, uint32_t job)
{
    if (job == FD_NO_PIPE_JOB) {
        return -1;
    }
    int64_t row = 0;
    uint32_t at = report->pipeline.jobs.list[job].at;
    for (uint32_t i = 0; i < at; i++) {
        fd_pipe_cell cell = drawn_cell(report, i);
        row += (int64_t)cell.end - cell.first;
    }
    return row + job - drawn_cell(report, at).first;
}

PyObject *
fd_pipeline_intervals_py(const fd_pipe_report *report)
{
    uint32_t count = report->idle.intervals.count;
    span_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    for (uint32_t i = 0; i < count && rows != NULL; i++) {
        const fd_pipe_interval *from = &report->idle.intervals.list[i];
        rows[i] = (span_row){
            .rank = rank_number(&report->pipeline, from->at),
            .start = from->start,
            .end = from->end,
            .job = job_row_of(report, from->job),
            .waits_for = rank_number(&report->pipeline, from->for_rank),
            .part = from->part};
    }
    return columns_of(&span_table, rows, count);
}

PyObject *
fd_pipeline_path_py(const fd_pipe_report *report)
{
    uint32_t count = report->path.pieces.count;
    span_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    for (uint32_t i = 0; i < count && rows != NULL; i++) {
        const fd_pipe_piece *from = &report->path.pieces.list[i];
        rows[i] = (span_row){.rank = rank_number(&report->pipeline, from->at),
                             .start = from->start,
                             .end = from->end,
                             .job = job_row_of(report, from->job),
                             .waits_for = -1,
                             .part = from->part};
    }
    return columns_of(&span_table, rows, count);
}

typedef struct job_row {
    fd_pipe_job job;
    int64_t rank, other;
    bool critical, posted, open;
} job_row;

#define JOB(name, type, field) FD_COLUMN(job_row, name, type, job.field)

static const fd_column job_columns[] = {
    FD_COLUMN(job_row, "rank", I64, rank),
    JOB("row", U32, row),
    JOB("iteration", I32, iteration),
    FD_COLUMN_OF_NAMES(job_row, "kind", U8, job.kind, fd_pipe_kind_names),
    JOB("stage", I32, stage),
    JOB("peer", I32, peer),
    JOB("micro_batch", I32, micro_batch),
    JOB("buffer", I32, buffer),
    JOB("bytes", U64, bytes),
    JOB("start", I64, start),
    JOB("ready", I64, ready),
    JOB("end", I64, end),
    JOB("slack", I64, slack),
    FD_COLUMN(job_row, "other", I64, other),
    FD_COLUMN(job_row, "critical", BOOL, critical),
    FD_COLUMN(job_row, "posted", BOOL, posted),
    FD_COLUMN(job_row, "open", BOOL, open)};
static const fd_table job_table = TABLE(job_columns, job_row);

static job_row
row_of(const fd_pipe_report *report, uint32_t at)
{
    const fd_pipe_job *job = &report->pipeline.jobs.list[at];
    return (job_row){.job = *job,
                     .rank = rank_number(&report->pipeline, job->at),
                     .other = -1,
                     .critical = (job->flags & FD_PIPE_ON_PATH) != 0,
                     .posted = (job->flags & FD_PIPE_POSTED) != 0,
                     .open = (job->flags & FD_PIPE_OPEN) != 0};
}

PyObject *
fd_pipeline_jobs_py(const fd_pipe_report *report)
{
    const fd_pipe *p = &report->pipeline;
    job_row *rows = fd_calloc((size_t)p->jobs.count + 1, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0;
         i < p->ranks.count && rows != NULL && report->idle.drawn >= 0; i++) {
        fd_pipe_cell cell = drawn_cell(report, i);
        for (uint32_t j = cell.first; j < cell.end; j++) {
            rows[count] = row_of(report, j);
            rows[count++].other = job_row_of(report, p->jobs.list[j].other);
        }
    }
    return columns_of(&job_table, rows, count);
}

PyObject *
fd_pipeline_open_py(const fd_pipe_report *report)
{
    const fd_pipe *p = &report->pipeline;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        count += p->ranks.list[i].open;
    }
    job_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    count = 0;
    for (uint32_t i = 0; i < p->jobs.count && rows != NULL; i++) {
        if ((p->jobs.list[i].flags & FD_PIPE_OPEN) != 0) {
            rows[count++] = row_of(report, i);
        }
    }
    return columns_of(&job_table, rows, count);
}

PyObject *
fd_pipeline_alone_py(const fd_pipe_report *report)
{
    uint32_t count = report->matches.alone.count;
    job_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    for (uint32_t i = 0; i < count && rows != NULL; i++) {
        rows[i] = row_of(report, report->matches.alone.list[i]);
    }
    return columns_of(&job_table, rows, count);
}

PyObject *
fd_pipeline_ifs_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {
        FD_COLUMN_OF_NAMES(fd_pipe_if, "change", U32, change, fd_if_names),
        FD_COLUMN(fd_pipe_if, "stage", I32, stage),
        FD_COLUMN(fd_pipe_if, "to", I32, to),
        FD_COLUMN(fd_pipe_if, "layer", I32, layer),
        FD_COLUMN(fd_pipe_if, "saves", I64, saves),
        FD_COLUMN(fd_pipe_if, "schedule", U32, schedule)};
    static const fd_table table = TABLE(columns, fd_pipe_if);
    static_assert(sizeof(fd_if_change) == 4 && sizeof(fd_schedule) == 4,
                  "read as U32");
    return fd_columns(&table, report->ifs.list.list, report->ifs.list.count,
                      NULL);
}
