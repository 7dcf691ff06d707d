#include "trace/trace_columns.h"

#include <string.h>

const char *const fd_kind_names[] = {
    "none",   "python", "op",       "autograd", "range",  "job",
    "module", "thread", "overflow", "c",        "kernel", NULL};
const char *const fd_from_names[] = {"project", "site", "stdlib", "generated",
                                     NULL};
const char *const fd_phase_names[] = {"other",     "forward", "backward",
                                      "optimizer", "data",    NULL};
const char *const fd_state_names[] = {"unknown", "running", "paused",
                                      "stopped", "killed",  NULL};
const char *const fd_steps_source_names[] = {"none",     "optimizer", "engine",
                                             "profiler", "explicit",  NULL};
const char *const fd_counter_names[] = {
    "nodes_full",        "strings_full",     "modules_full",
    "disk_full",         "deep_stack",       "hidden_frames",
    "end_without_start", "async_lost",       "origin_near",
    "origin_old",        "origin_none",      "origin_thread",
    "origin_misfit",     "accumulate_grad",  "hook_lost",
    "ranges_folded",     "recursion_folded", "threads_full",
    "jobs_full",         "gpu_captured",     "gpu_lost",
    "gpu_dropped",       "gpu_shifted",      "gpu_unfinished",
    "gpu_events_lost",   "op_calls_full",    "operands_cut",
    "classes_full",      "snapshots_full",   "measures_full",
    "unhooked_ns",       "steps_unclear",    NULL};

static const char *const measure_names[] = {
    "none",   "steps",      "shapes",  "comm",       "collectives",
    "latest", "allocated",  "freed",   "peak_freed", "peak",
    "kept",   "unfollowed", "refused", "held",       NULL};

static const fd_column nodes[] = {
    FD_COLUMN_OF_NAMES(fd_trace_node, "kind", U8, kind, fd_kind_names),
    FD_COLUMN_OF_NAMES(fd_trace_node, "from", U8, from, fd_from_names),
    FD_COLUMN(fd_trace_node, "file", TEXT, file),
    FD_COLUMN(fd_trace_node, "class", TEXT, class_name),
    FD_COLUMN(fd_trace_node, "name", TEXT, name),
    FD_COLUMN(fd_trace_node, "qualified", TEXT, qualified),
    FD_COLUMN(fd_trace_node, "package", TEXT, package),
    FD_COLUMN(fd_trace_node, "line", U32, line),
};

static const fd_column modules[] = {
    FD_COLUMN(fd_trace_module, "parent", INDEX, parent),
    FD_COLUMN(fd_trace_module, "name", TEXT, name),
    FD_COLUMN(fd_trace_module, "class", TEXT, class_name),
    FD_NEWER_COLUMN(NULL, fd_trace_module, "parameters", U64, parameters),
    FD_NEWER_COLUMN("bytes", fd_trace_module, "parameter_bytes", U64,
                    parameter_bytes),
};

static const fd_column contexts[] = {
    FD_COLUMN(fd_trace_context, "parent", INDEX, parent),
    FD_COLUMN(fd_trace_context, "node", INDEX, node),
    FD_COLUMN(fd_trace_context, "module", INDEX, module),
    FD_COLUMN(fd_trace_context, "origin", INDEX, origin),
    FD_COLUMN(fd_trace_context, "flags", U32, flags),
};

static const fd_column figures[] = {
    FD_COLUMN(fd_figure, "context", CONTEXT, context),
    FD_COLUMN(fd_figure, "calls", U64, calls),
    FD_COLUMN(fd_figure, "resumes", U64, resumes),
    FD_COLUMN_IN("ns", fd_figure, "self", U64, self),
    FD_COLUMN_IN("ns", fd_figure, "stepped", U64, stepped),
    FD_COLUMN(fd_figure, "steps", U32, steps),
    FD_COLUMN(fd_figure, "last_step", U32, last_step),
    FD_COLUMN_IN("ns", fd_figure, "self_min", U64, self_min),
    FD_COLUMN_IN("ns", fd_figure, "self_max", U64, self_max),
    FD_COLUMN_IN("ns^2", fd_figure, "self_squares", DOUBLE, self_squares),
    FD_COLUMN_IN("ns", fd_figure, "total_min", U64, total_min),
    FD_COLUMN_IN("ns", fd_figure, "total_max", U64, total_max),
    FD_COLUMN_IN("ns^2", fd_figure, "total_squares", DOUBLE, total_squares),
};

static const fd_column gpu[] = {
    FD_COLUMN(fd_gpu_figure, "context", CONTEXT, context),
    FD_COLUMN(fd_gpu_figure, "calls", U64, calls),
    FD_COLUMN_IN("ns", fd_gpu_figure, "total", U64, total),
    FD_COLUMN_IN("ns", fd_gpu_figure, "self", U64, self),
    FD_COLUMN_IN("ns", fd_gpu_figure, "starved", U64, starved),
    FD_COLUMN_IN("ns", fd_gpu_figure, "drained", U64, drained),
    FD_COLUMN(fd_gpu_figure, "launch_bound", U64, launch_bound),
    FD_COLUMN_IN("bytes", fd_gpu_figure, "bytes", U64, bytes),
    FD_COLUMN(fd_gpu_figure, "device", INDEX, device),
    FD_COLUMN(fd_gpu_figure, "stream", INDEX, stream),
};

static const fd_column measures[] = {
    FD_COLUMN(fd_trace_measure, "context", CONTEXT, context),
    FD_COLUMN_OF_NAMES(fd_trace_measure, "kind", U32, kind, measure_names),
    FD_COLUMN(fd_trace_measure, "flags", U32, flags),
    FD_COLUMN(fd_trace_measure, "detail", TEXT, detail),
    FD_COLUMN(fd_trace_measure, "count", U64, count),
    FD_COLUMN(fd_trace_measure, "sum", U64, sum),
    FD_COLUMN(fd_trace_measure, "max", U64, max),
    FD_COLUMN(fd_trace_measure, "other", U64, other),
    FD_NEWER_COLUMN(NULL, fd_trace_measure, "ranks", U32, ranks),
    FD_NEWER_COLUMN(NULL, fd_trace_measure, "range_min", U64, range.min),
    FD_NEWER_COLUMN(NULL, fd_trace_measure, "range_max", U64, range.max),
    FD_NEWER_COLUMN(NULL, fd_trace_measure, "range_min_rank", U32,
                    range.min_rank),
    FD_NEWER_COLUMN(NULL, fd_trace_measure, "range_max_rank", U32,
                    range.max_rank),
};

static const fd_column threads[] = {
    FD_COLUMN(fd_trace_thread, "role", TEXT, role),
    FD_COLUMN(fd_trace_thread, "system_id", U32, system_id),
    FD_COLUMN(fd_trace_thread, "root", CONTEXT, root),
    FD_COLUMN(fd_trace_thread, "running", BOOL, running),
    FD_COLUMN(fd_trace_thread, "served", U64, served),
    FD_COLUMN_IN("ns", fd_trace_thread, "covered", U64, covered),
    FD_COLUMN_IN("ns", fd_trace_thread, "self", U64, self),
    FD_COLUMN(fd_trace_thread, "events", U64, events),
    FD_COLUMN(fd_trace_thread, "events_lost", U64, events_lost),
    FD_NEWER_COLUMN("ns", fd_trace_thread, "cpu", U64, cpu),
    FD_NEWER_COLUMN("ns", fd_trace_thread, "covered_from", U64, covered_from),
    FD_NEWER_COLUMN("ns", fd_trace_thread, "covered_to", U64, covered_to),
    FD_NEWER_COLUMN("ns", fd_trace_thread, "cpu_from", U64, cpu_from),
    FD_NEWER_COLUMN("ns", fd_trace_thread, "cpu_to", U64, cpu_to),
};

/* Names of FD_WAIT_*. */
static const char *const waits[] = {"",      "lock",   "sleep", "socket",
                                    "pipe",  "file",   "poll",  "child",
                                    "other", "unseen", NULL};

static const fd_column live[] = {
    FD_COLUMN_IN("ns", fd_trace_thread, "last", U64, last),
    FD_COLUMN_IN("ns", fd_trace_thread, "still", U64, still),
    FD_COLUMN_OF_NAMES(fd_trace_thread, "waits", U32, waits, waits),
};

static const fd_column marks[] = {
    FD_COLUMN(fd_trace_mark, "number", U64, number),
    FD_COLUMN(fd_trace_mark, "steps", U64, steps),
    FD_COLUMN_IN("ns", fd_trace_mark, "end", U64, end),
    FD_COLUMN_IN("ns", fd_trace_mark, "recorded", U64, recorded),
    FD_COLUMN_IN("ns", fd_trace_mark, "other", U64, phases[FD_PHASE_OTHER]),
    FD_COLUMN_IN("ns", fd_trace_mark, "forward", U64,
                 phases[FD_PHASE_FORWARD]),
    FD_COLUMN_IN("ns", fd_trace_mark, "backward", U64,
                 phases[FD_PHASE_BACKWARD]),
    FD_COLUMN_IN("ns", fd_trace_mark, "optimizer", U64,
                 phases[FD_PHASE_OPTIMIZER]),
    FD_COLUMN_IN("ns", fd_trace_mark, "data", U64, phases[FD_PHASE_DATA]),
    FD_NEWER_COLUMN("ns", fd_trace_mark, "queued", U64, queued),
    FD_NEWER_COLUMN("bytes", fd_trace_mark, "memory", U64, memory),
};

static const fd_column mark_figures[] = {
    FD_COLUMN(fd_mark_figure, "context", CONTEXT, context),
    FD_COLUMN(fd_mark_figure, "calls", U64, calls),
    FD_COLUMN(fd_mark_figure, "resumes", U64, resumes),
    FD_COLUMN_IN("ns", fd_mark_figure, "self", U64, self),
    FD_COLUMN(fd_mark_figure, "steps", U32, steps),
    FD_COLUMN_IN("ns^2", fd_mark_figure, "self_squares", DOUBLE, self_squares),
    FD_COLUMN_IN("ns^2", fd_mark_figure, "total_squares", DOUBLE,
                 total_squares),
};

static const fd_column open_calls[] = {
    FD_COLUMN(fd_open_call, "thread", U32, thread),
    FD_COLUMN(fd_open_call, "context", CONTEXT, context),
    FD_COLUMN_IN("ns", fd_open_call, "age", U64, age),
};

static const fd_column steps[] = {
    FD_COLUMN(fd_trace_step, "number", U64, number),
    FD_COLUMN_IN("ns", fd_trace_step, "begin", U64, begin),
    FD_COLUMN_IN("ns", fd_trace_step, "end", U64, end),
    FD_COLUMN_IN("ns", fd_trace_step, "other", U64, phases[FD_PHASE_OTHER]),
    FD_COLUMN_IN("ns", fd_trace_step, "forward", U64,
                 phases[FD_PHASE_FORWARD]),
    FD_COLUMN_IN("ns", fd_trace_step, "backward", U64,
                 phases[FD_PHASE_BACKWARD]),
    FD_COLUMN_IN("ns", fd_trace_step, "optimizer", U64,
                 phases[FD_PHASE_OPTIMIZER]),
    FD_COLUMN_IN("ns", fd_trace_step, "data", U64, phases[FD_PHASE_DATA]),
    FD_NEWER_COLUMN("bytes", fd_trace_step, "communicated", U64_OR_NONE,
                    communicated),
    FD_NEWER_COLUMN("bytes", fd_trace_step, "live", U64_OR_NONE, live),
};

static const fd_column jobs[] = {
    FD_COLUMN(fd_trace_job, "kind", TEXT, kind),
    FD_COLUMN(fd_trace_job, "context", CONTEXT, context),
    FD_COLUMN(fd_trace_job, "thread", U32, thread),
    FD_COLUMN(fd_trace_job, "step", U64, step),
    FD_COLUMN(fd_trace_job, "iteration", INDEX, iteration),
    FD_COLUMN(fd_trace_job, "micro_batch", INDEX, micro_batch),
    FD_COLUMN(fd_trace_job, "stage", INDEX, stage),
    FD_COLUMN(fd_trace_job, "chunk", INDEX, chunk),
    FD_COLUMN(fd_trace_job, "peer", INDEX, peer),
    FD_COLUMN(fd_trace_job, "buffer", INDEX, buffer),
    FD_COLUMN_IN("bytes", fd_trace_job, "bytes", U64, bytes),
    FD_COLUMN(fd_trace_job, "flags", U32, flags),
    FD_COLUMN_IN("ns", fd_trace_job, "start", U64, start),
    FD_COLUMN_IN("ns", fd_trace_job, "duration", U64, duration),
    FD_COLUMN(fd_trace_job, "open", BOOL, open),
    FD_COLUMN(fd_trace_job, "device", INDEX, device),
    FD_COLUMN_IN("ns", fd_trace_job, "gpu_start", U64, gpu_start),
    FD_COLUMN_IN("ns", fd_trace_job, "gpu_duration", U64, gpu_duration),
};

static const fd_column tops[] = {
    FD_COLUMN(fd_trace_top, "step", U64, step),
    FD_COLUMN(fd_trace_top, "context", CONTEXT, context),
    FD_COLUMN_IN("ns", fd_trace_top, "self", U64, self),
};

#define SPREAD_OF(field, unit) \
    FD_COLUMN_IN(unit, fd_rank_spread, #field "_min", U64, field.min), \
        FD_COLUMN_IN(unit, fd_rank_spread, #field "_max", U64, field.max), \
        FD_COLUMN(fd_rank_spread, #field "_min_rank", U32, field.min_rank), \
        FD_COLUMN(fd_rank_spread, #field "_max_rank", U32, field.max_rank)

static const fd_column spreads[] = {
    FD_COLUMN(fd_rank_spread, "context", CONTEXT, context),
    FD_COLUMN(fd_rank_spread, "ranks", U32, ranks),
    SPREAD_OF(calls, NULL),
    SPREAD_OF(self, "ns"),
    SPREAD_OF(total, "ns"),
    FD_COLUMN_IN("ns", fd_rank_spread, "self_median", U64, self_median),
    FD_COLUMN_IN("ns", fd_rank_spread, "self_p95", U64, self_p95),
    FD_COLUMN_IN("ns", fd_rank_spread, "total_median", U64, total_median),
    FD_COLUMN_IN("ns", fd_rank_spread, "total_p95", U64, total_p95),
    FD_COLUMN_IN("ns", fd_rank_spread, "least", U64, least),
    FD_COLUMN_IN("ns", fd_rank_spread, "late", U64, late),
    FD_COLUMN_IN("ns^2", fd_rank_spread, "late_squares", DOUBLE, late_squares),
};

static const fd_column gpu_events[] = {
    FD_COLUMN(fd_trace_gpu_event, "context", CONTEXT, context),
    FD_COLUMN(fd_trace_gpu_event, "launcher", CONTEXT, launcher),
    FD_COLUMN(fd_trace_gpu_event, "host", U64, host),
    FD_COLUMN(fd_trace_gpu_event, "start", U64, start),
    FD_COLUMN(fd_trace_gpu_event, "duration", U64, duration),
    FD_COLUMN(fd_trace_gpu_event, "thread", U16, thread),
    FD_COLUMN(fd_trace_gpu_event, "device", U16, device),
    FD_COLUMN(fd_trace_gpu_event, "stream", U32, stream),
};

static const fd_column iterations[] = {
    FD_COLUMN(fd_trace_iteration, "job", U32, job),
    FD_COLUMN(fd_trace_iteration, "flags", U32, flags),
    FD_COLUMN(fd_trace_iteration, "micro_batches", INDEX, micro_batches),
    FD_COLUMN(fd_trace_iteration, "stages", INDEX, stages),
    FD_COLUMN(fd_trace_iteration, "processes", INDEX, processes),
    FD_COLUMN(fd_trace_iteration, "position", INDEX, position),
    FD_COLUMN(fd_trace_iteration, "schedule", CHARS, schedule),
};

static const fd_column facts[] = {
    FD_COLUMN(fd_trace_meta, "key", TEXT, key),
    FD_COLUMN(fd_trace_meta, "value", TEXT, json),
};

static const fd_column rank_fields[] = {
    FD_COLUMN(fd_trace_rank, "rank", U32, rank),
    FD_COLUMN(fd_trace_rank, "world", U32, world),
    FD_COLUMN(fd_trace_rank, "pid", U32, pid),
    FD_COLUMN(fd_trace_rank, "id", CHARS, id),
    FD_COLUMN(fd_trace_rank, "boot_id", CHARS, boot_id),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "state", U32, state, fd_state_names),
    FD_COLUMN(fd_trace_rank, "timing", BOOL, timing),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "steps_source", U32, steps_source,
                       fd_steps_source_names),
    FD_COLUMN(fd_trace_rank, "steps", U64, steps),
    FD_COLUMN(fd_trace_rank, "recorded", U64, recorded),
    FD_COLUMN(fd_trace_rank, "file_bytes", U64, file_bytes),
};

static const fd_column sparse_fields[] = {
    FD_COLUMN(fd_trace_rank, "run_steps", U64, run_steps),
    FD_COLUMN(fd_trace_rank, "seen_alive", U64, seen_alive),
    FD_COLUMN(fd_trace_rank, "others_ran", U64, others_ran),
};

static const fd_column start_fields[] = {
    FD_COLUMN(fd_trace_rank, "ticks", U64, start.ticks),
    FD_COLUMN(fd_trace_rank, "monotonic", U64, start.monotonic_ns),
    FD_COLUMN(fd_trace_rank, "boottime", U64, start.boottime_ns),
    FD_COLUMN(fd_trace_rank, "realtime", U64, start.realtime_ns),
};

static const fd_column reduced_fields[] = {
    FD_COLUMN(fd_trace_rank, "ranks", U32, reduced),
    FD_COLUMN(fd_trace_rank, "whole", U64, whole),
    FD_COLUMN(fd_trace_rank, "settled", BOOL, window.applied),
};

static const fd_column notes[] = {
    {"note", FD_COLUMN_TEXT, 0, sizeof(uint32_t), NULL, NULL, false}};

/* The column `context` is not of one type: fd_event_has_context. */
static const fd_column events[] = {
    FD_COLUMN_IN("ns", fd_trace_event, "start", U64, start),
    FD_COLUMN_IN("ns", fd_trace_event, "duration", U64, duration),
    FD_COLUMN(fd_trace_event, "context", U32, context),
    FD_COLUMN(fd_trace_event, "thread", U16, thread),
    FD_COLUMN(fd_trace_event, "kind", U16, kind),
};

static const fd_column flows[] = {
    FD_COLUMN(fd_trace_flow, "from", U32, from),
    FD_COLUMN(fd_trace_flow, "to", U32, to),
};

/* A table of which no column is shown. */
static const fd_table record_ids_table = {"record_ids", NULL, 0,
                                          sizeof(fd_trace_record), false};

static const fd_table events_table =
    FD_TABLE("events", events, fd_trace_event, false);
static const fd_table flows_table =
    FD_TABLE("flows", flows, fd_trace_flow, false);

static const fd_table gpu_events_table =
    FD_TABLE("gpu_events", gpu_events, fd_trace_gpu_event, false);
static const fd_table iterations_table =
    FD_TABLE("iterations", iterations, fd_trace_iteration, false);
static const fd_table notes_table = FD_TABLE("notes", notes, uint32_t, false);

const fd_table fd_facts_table = FD_TABLE("facts", facts, fd_trace_meta, false);
const fd_table fd_nodes_table = FD_TABLE("nodes", nodes, fd_trace_node, true);
const fd_table fd_modules_table =
    FD_TABLE("modules", modules, fd_trace_module, true);
const fd_table fd_contexts_table =
    FD_TABLE("contexts", contexts, fd_trace_context, true);
const fd_table fd_figures_table =
    FD_TABLE("figures", figures, fd_figure, false);
const fd_table fd_gpu_table = FD_TABLE("gpu", gpu, fd_gpu_figure, false);
const fd_table fd_measures_table =
    FD_TABLE("measures", measures, fd_trace_measure, false);
const fd_table fd_threads_table =
    FD_TABLE("threads", threads, fd_trace_thread, false);
const fd_table fd_live_table = FD_TABLE("live", live, fd_trace_thread, false);
const fd_table fd_marks_table = FD_TABLE("marks", marks, fd_trace_mark, false);
const fd_table fd_settled_from_table =
    FD_TABLE("settled_from", mark_figures, fd_mark_figure, false);
const fd_table fd_settled_to_table =
    FD_TABLE("settled_to", mark_figures, fd_mark_figure, false);
const fd_table fd_open_table =
    FD_TABLE("open", open_calls, fd_open_call, false);
const fd_table fd_steps_table =
    FD_TABLE("latest_steps", steps, fd_trace_step, false);
const fd_table fd_jobs_table = FD_TABLE("jobs", jobs, fd_trace_job, false);
const fd_table fd_tops_table =
    FD_TABLE("step_tops", tops, fd_trace_top, false);

const fd_table fd_spreads_table =
    FD_TABLE("spreads", spreads, fd_rank_spread, false);

const fd_table fd_rank_fields =
    FD_TABLE("rank", rank_fields, fd_trace_rank, false);
const fd_table fd_sparse_fields =
    FD_TABLE("sparse", sparse_fields, fd_trace_rank, false);
const fd_table fd_start_fields =
    FD_TABLE("start", start_fields, fd_trace_rank, false);
const fd_table fd_reduced_fields =
    FD_TABLE("reduced", reduced_fields, fd_trace_rank, false);

#define RANK_TABLE(table, field) \
    { \
        table, offsetof(fd_trace_rank, field) \
    }
const fd_rank_table fd_rank_tables[FD_RANK_TABLES] = {
    RANK_TABLE(&fd_figures_table, figures),
    RANK_TABLE(&fd_gpu_table, gpu),
    RANK_TABLE(&fd_measures_table, measures),
    RANK_TABLE(&fd_threads_table, threads),
    RANK_TABLE(&fd_open_table, open),
    RANK_TABLE(&fd_steps_table, latest),
    RANK_TABLE(&fd_tops_table, tops),
    RANK_TABLE(&fd_marks_table, marks),
    RANK_TABLE(&fd_settled_from_table, window.figures_from),
    RANK_TABLE(&fd_settled_to_table, window.figures_to),
    RANK_TABLE(&events_table, events),
    RANK_TABLE(&record_ids_table, record_ids),
    RANK_TABLE(&gpu_events_table, gpu_events),
    RANK_TABLE(&fd_jobs_table, jobs),
    RANK_TABLE(&iterations_table, iterations),
    RANK_TABLE(&flows_table, flows),
    RANK_TABLE(&fd_facts_table, meta),
    RANK_TABLE(&notes_table, notes),
    RANK_TABLE(&fd_spreads_table, spreads),
};

fd_rank_list *
fd_rank_rows_of(const fd_trace_rank *rank, const fd_table *table)
{
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        if (fd_rank_tables[i].table == table) {
            return fd_rank_rows(rank, i);
        }
    }
    return NULL;
}

static_assert(sizeof measure_names / sizeof *measure_names
                  == FD_MEASURE_KINDS + 1,
              "every kind of measure has a name");
static_assert(sizeof fd_counter_names / sizeof *fd_counter_names
                  == FD_COUNT_USED + 1,
              "every counter has a name");

/* The size of a number in a row; 0: not a number. */
static const uint8_t number_bytes[] = {
    [FD_COLUMN_INDEX] = sizeof(uint32_t),
    [FD_COLUMN_CONTEXT] = sizeof(uint32_t),
    [FD_COLUMN_TEXT] = sizeof(uint32_t),
    [FD_COLUMN_U8] = sizeof(uint8_t),
    [FD_COLUMN_BOOL] = sizeof(bool),
    [FD_COLUMN_U32] = sizeof(uint32_t),
    [FD_COLUMN_U64] = sizeof(uint64_t),
    [FD_COLUMN_U64_OR_NONE] = sizeof(uint64_t),
    [FD_COLUMN_DOUBLE] = sizeof(double),
    [FD_COLUMN_I32] = sizeof(int32_t),
    [FD_COLUMN_I64] = sizeof(int64_t),
    [FD_COLUMN_U16] = sizeof(uint16_t),
    [FD_COLUMN_CHARS] = 0,
    [FD_COLUMN_STRING] = 0,
    [FD_COLUMN_I64_OR_NONE] = sizeof(int64_t),
};

const fd_column *
fd_column_named(const fd_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->count && strcmp(table->columns[i].name, name) != 0) {
        i++;
    }
    return i < table->count ? &table->columns[i] : NULL;
}

size_t
fd_cell_bytes(const fd_column *column)
{
    return number_bytes[column->type];
}

/* Copy 0, 1, 2, 4 or 8 bytes: a call with a variable size would cost more than
 * all else that is done with a cell. */
static inline void
copy_number(void *to, const void *from, size_t bytes)
{
    switch (bytes) {
    case sizeof(uint64_t):
        memcpy(to, from, sizeof(uint64_t));
        break;
    case sizeof(uint32_t):
        memcpy(to, from, sizeof(uint32_t));
        break;
    case sizeof(uint16_t):
        memcpy(to, from, sizeof(uint16_t));
        break;
    case sizeof(uint8_t):
        memcpy(to, from, sizeof(uint8_t));
        break;
    }
}

uint64_t
fd_cell(const fd_column *column, const void *row)
{
    uint64_t value = 0; /* little-endian */
    copy_number(&value, (const char *)row + column->offset,
                number_bytes[column->type]);
    return column->type == FD_COLUMN_I32 ? (uint64_t)(int32_t)value : value;
}

void
fd_cell_set(const fd_column *column, void *row, uint64_t value)
{
    copy_number((char *)row + column->offset, &value,
                number_bytes[column->type]);
}

void
fd_table_visit(const fd_table *table, void *rows, uint32_t count,
               fd_column_type type, fd_visit *see, void *context)
{
    for (size_t c = 0; c < table->count; c++) {
        if (table->columns[c].type != type || count == 0) {
            continue;
        }
        char *cell = (char *)rows + table->columns[c].offset;
        for (uint32_t i = 0; i < count; i++, cell += table->row_bytes) {
            see((void *)cell, context);
        }
    }
}

void
fd_rank_visit(fd_trace_rank *rank, fd_column_type type, fd_visit *see,
              void *context)
{
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        const fd_rank_list *rows = fd_rank_rows(rank, i);
        fd_table_visit(fd_rank_tables[i].table, rows->list, rows->count, type,
                       see, context);
    }
    for (uint32_t i = 0; type == FD_COLUMN_CONTEXT && i < rank->events.count;
         i++) {
        if (fd_event_has_context(&rank->events.list[i])) {
            see(&rank->events.list[i].context, context);
        }
    }
}

void
fd_trace_rank_clear(fd_trace_rank *rank)
{
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        fd_vector_clear(fd_rank_rows(rank, i));
    }
}

void
fd_visit_renumber(uint32_t *id, void *ids)
{
    *id = ((const uint32_t *)ids)[*id];
}
