/* The tables of a report on a pipeline, as columns. */
#include "module/pipeline/pipeline_report_binding.h"

#include "base/alloc.h"
#include "module/field_tables.h"
#include "trace/trace_columns.h"

#define NUMBER(row, name, field) FD_COLUMN(row, name, I64, field)
#define NAME(row, name, field, names) \
    FD_COLUMN_OF_NAMES(row, name, U8, field, names)
#define TRUTH(row, name, field) FD_COLUMN(row, name, BOOL, field)
#define TABLE(columns, row) \
    { \
        NULL, columns, sizeof(columns) / sizeof *(columns), sizeof(row), \
            false \
    }

/* The number of a rank in a column; -1: none. */
static int64_t
rank_number(const fd_pipe *p, uint32_t at)
{
    return at == FD_NO_PIPE_JOB ? -1 : (int64_t)p->ranks.list[at].rank;
}

/* `rows` are freed. */
static PyObject *
columns_of(const fd_table *table, void *rows, uint32_t count)
{
    PyObject *made =
        rows == NULL ? PyErr_NoMemory() : fd_columns(table, rows, count, NULL);
    fd_free(rows);
    return made;
}

typedef struct rank_row {
    int64_t rank, place, line, data, model, jobs, open, moved, unsure;
    bool killed;
} rank_row;

PyObject *
fd_pipeline_ranks_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {NUMBER(rank_row, "rank", rank),
                                        NUMBER(rank_row, "stage", place),
                                        NUMBER(rank_row, "line", line),
                                        NUMBER(rank_row, "data", data),
                                        NUMBER(rank_row, "model", model),
                                        NUMBER(rank_row, "jobs", jobs),
                                        NUMBER(rank_row, "open", open),
                                        TRUTH(rank_row, "killed", killed),
                                        NUMBER(rank_row, "moved_ns", moved),
                                        NUMBER(rank_row, "unsure_ns", unsure)};
    static const fd_table table = TABLE(columns, rank_row);
    const fd_pipe *p = &report->pipeline;
    rank_row *rows = fd_calloc((size_t)p->ranks.count + 1, sizeof *rows);
    for (uint32_t i = 0; i < p->ranks.count && rows != NULL; i++) {
        const fd_pipe_rank *rank = &p->ranks.list[i];
        rows[i] = (rank_row){.rank = rank->rank,
                             .place = rank->place,
                             .line = rank->line,
                             .data = rank->data,
                             .model = rank->model,
                             .jobs = (int64_t)rank->end - rank->first,
                             .open = rank->open,
                             .moved = rank->moved,
                             .unsure = rank->unsure,
                             .killed = rank->killed};
    }
    return columns_of(&table, rows, p->ranks.count);
}

typedef struct share_row {
    int64_t rank, iteration, start, end, in_flight, bytes;
    int64_t parts[FD_PARTS];
    bool whole, chosen;
} share_row;

#define PART(name, part) FD_COLUMN(share_row, name, I64, parts[part])

PyObject *
fd_pipeline_shares_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {
        NUMBER(share_row, "rank", rank),
        NUMBER(share_row, "iteration", iteration),
        NUMBER(share_row, "start", start),
        NUMBER(share_row, "end", end),
        NUMBER(share_row, "in_flight", in_flight),
        NUMBER(share_row, "bytes", bytes),
        TRUTH(share_row, "whole", whole),
        TRUTH(share_row, "chosen", chosen),
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
            const fd_pipe_share *share =
                fd_pipe_share_of(report->idle.shares, p, i, j);
            fd_pipe_cell cell = fd_pipeline_cell(p, i, j);
            if (cell.end == cell.first) {
                continue;
            }
            share_row *row = &rows[count++];
            *row = (share_row){.rank = p->ranks.list[i].rank,
                               .iteration = p->iterations.list[j],
                               .start = share->start,
                               .end = share->end,
                               .in_flight = share->in_flight,
                               .bytes = (int64_t)share->bytes,
                               .whole = share->whole,
                               .chosen = share->chosen};
            for (int part = 0; part < FD_PARTS; part++) {
                row->parts[part] = share->parts[part];
            }
        }
    }
    return columns_of(&table, rows, count);
}

/* A span of time, or a piece of the critical path. */
typedef struct span_row {
    int64_t rank, start, end, job, waits_for;
    uint8_t part;
} span_row;

static const fd_column span_columns[] = {
    NUMBER(span_row, "rank", rank),
    NUMBER(span_row, "start", start),
    NUMBER(span_row, "end", end),
    NAME(span_row, "part", part, fd_pipe_part_names),
    NUMBER(span_row, "job", job),
    NUMBER(span_row, "waits_for", waits_for)};
static const fd_table span_table = TABLE(span_columns, span_row);

/* The row of a job in fd_pipeline_jobs_py, -1: none. */
static int64_t
job_row_of(const fd_pipe_report *report, uint32_t job)
{
    if (job == FD_NO_PIPE_JOB) {
        return -1;
    }
    const fd_pipe *p = &report->pipeline;
    int64_t row = 0;
    for (uint32_t i = 0; i < p->jobs.list[job].at; i++) {
        fd_pipe_cell cell =
            fd_pipeline_cell(p, i, (uint32_t)report->idle.drawn);
        row += (int64_t)cell.end - cell.first;
    }
    fd_pipe_cell own = fd_pipeline_cell(p, p->jobs.list[job].at,
                                        (uint32_t)report->idle.drawn);
    return row + job - own.first;
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
    int64_t rank, row, iteration, stage, peer, micro_batch, buffer, bytes;
    int64_t start, ready, end, slack, other;
    uint8_t kind;
    bool critical, posted, open;
} job_row;

static const fd_column job_columns[] = {
    NUMBER(job_row, "rank", rank),
    NUMBER(job_row, "row", row),
    NUMBER(job_row, "iteration", iteration),
    NAME(job_row, "kind", kind, fd_pipe_kind_names),
    NUMBER(job_row, "stage", stage),
    NUMBER(job_row, "peer", peer),
    NUMBER(job_row, "micro_batch", micro_batch),
    NUMBER(job_row, "buffer", buffer),
    NUMBER(job_row, "bytes", bytes),
    NUMBER(job_row, "start", start),
    NUMBER(job_row, "ready", ready),
    NUMBER(job_row, "end", end),
    NUMBER(job_row, "slack", slack),
    NUMBER(job_row, "other", other),
    TRUTH(job_row, "critical", critical),
    TRUTH(job_row, "posted", posted),
    TRUTH(job_row, "open", open)};
static const fd_table job_table = TABLE(job_columns, job_row);

static job_row
row_of(const fd_pipe_report *report, uint32_t at)
{
    const fd_pipe_job *job = &report->pipeline.jobs.list[at];
    return (job_row){.rank = rank_number(&report->pipeline, job->at),
                     .row = job->row,
                     .iteration = job->iteration,
                     .stage = job->stage,
                     .peer = job->peer,
                     .micro_batch = job->micro_batch,
                     .buffer = job->buffer,
                     .bytes = (int64_t)job->bytes,
                     .start = job->start,
                     .ready = job->ready,
                     .end = job->end,
                     .slack = job->slack,
                     .other = -1,
                     .kind = job->kind,
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
        fd_pipe_cell cell =
            fd_pipeline_cell(p, i, (uint32_t)report->idle.drawn);
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

typedef struct if_row {
    int64_t stage, to, layer, saves;
    uint8_t change, schedule;
} if_row;

PyObject *
fd_pipeline_ifs_py(const fd_pipe_report *report)
{
    static const fd_column columns[] = {
        NAME(if_row, "change", change, fd_if_names),
        NUMBER(if_row, "stage", stage),
        NUMBER(if_row, "to", to),
        NUMBER(if_row, "layer", layer),
        NUMBER(if_row, "saves", saves),
        FD_COLUMN(if_row, "schedule", U8, schedule)};
    static const fd_table table = TABLE(columns, if_row);
    uint32_t count = report->ifs.list.count;
    if_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    for (uint32_t i = 0; i < count && rows != NULL; i++) {
        const fd_pipe_if *from = &report->ifs.list.list[i];
        rows[i] = (if_row){.stage = from->stage,
                           .to = from->to,
                           .layer = from->layer,
                           .saves = from->saves,
                           .change = (uint8_t)from->change,
                           .schedule = (uint8_t)from->schedule};
    }
    return columns_of(&table, rows, count);
}
