#include "columns/stream_tables.h"

#include "profile/totals.h"

#include <string.h>

typedef struct node_row {
    uint32_t id;
    fd_trace_node node;
    const char *key;
} node_row;

static const fd_column node_columns[] = {
    FD_COLUMN(node_row, "id", U32, id),
    FD_COLUMN(node_row, "key", STRING, key),
    FD_COLUMN_OF_NAMES(node_row, "kind", U8, node.kind, fd_kind_names),
    FD_COLUMN_OF_NAMES(node_row, "from", U8, node.from, fd_from_names),
    FD_COLUMN(node_row, "file", TEXT, node.file),
    FD_COLUMN(node_row, "class", TEXT, node.class_name),
    FD_COLUMN(node_row, "name", TEXT, node.name),
    FD_COLUMN(node_row, "qualified", TEXT, node.qualified),
    FD_COLUMN(node_row, "package", TEXT, node.package),
    FD_COLUMN(node_row, "line", U32, node.line),
};

typedef struct module_row {
    uint32_t id;
    fd_trace_module module;
    const char *path;
} module_row;

static const fd_column module_columns[] = {
    FD_COLUMN(module_row, "id", U32, id),
    FD_COLUMN(module_row, "path", STRING, path),
    FD_COLUMN(module_row, "parent", INDEX, module.parent),
    FD_COLUMN(module_row, "name", TEXT, module.name),
    FD_COLUMN(module_row, "class", TEXT, module.class_name),
    FD_COLUMN(module_row, "parameters", U64, module.parameters),
    FD_COLUMN_IN("bytes", module_row, "parameter_bytes", U64,
                 module.parameter_bytes),
};

typedef struct context_row {
    uint32_t id;
    uint64_t path;
    fd_trace_context context;
} context_row;

static const fd_column context_columns[] = {
    FD_COLUMN(context_row, "id", U32, id),
    FD_COLUMN(context_row, "path", U64, path),
    FD_COLUMN(context_row, "parent", INDEX, context.parent),
    FD_COLUMN(context_row, "node", INDEX, context.node),
    FD_COLUMN(context_row, "module", INDEX, context.module),
    FD_COLUMN(context_row, "origin", INDEX, context.origin),
    FD_COLUMN(context_row, "flags", U32, context.flags),
};

typedef struct figure_row {
    uint32_t context;
    uint64_t path;
    fd_total sums;
    fd_figure spread;
} figure_row;

static const fd_column figure_columns[] = {
    FD_COLUMN(figure_row, "context", INDEX, context),
    FD_COLUMN(figure_row, "path", U64, path),
    FD_COLUMN(figure_row, "calls", U64, sums.calls),
    FD_COLUMN(figure_row, "resumes", U64, sums.resumes),
    FD_COLUMN(figure_row, "ops", U64, sums.ops),
    FD_COLUMN_IN("ns", figure_row, "self", U64, sums.self),
    FD_COLUMN_IN("ns", figure_row, "total", U64, sums.total),
    FD_COLUMN_IN("ns", figure_row, "backward", I64, sums.backward),
    FD_COLUMN_IN("ns", figure_row, "async", U64, sums.async),
    FD_COLUMN(figure_row, "steps", U32, spread.steps),
    FD_COLUMN(figure_row, "last_step", U32, spread.last_step),
    FD_COLUMN_IN("ns", figure_row, "stepped", U64, spread.stepped),
    FD_COLUMN_IN("ns", figure_row, "self_min", U64, spread.self_min),
    FD_COLUMN_IN("ns", figure_row, "self_max", U64, spread.self_max),
    FD_COLUMN_IN("ns^2", figure_row, "self_squares", DOUBLE,
                 spread.self_squares),
    FD_COLUMN_IN("ns", figure_row, "total_min", U64, spread.total_min),
    FD_COLUMN_IN("ns", figure_row, "total_max", U64, spread.total_max),
    FD_COLUMN_IN("ns^2", figure_row, "total_squares", DOUBLE,
                 spread.total_squares),
    FD_COLUMN(figure_row, "gpu_calls", U64, sums.gpu_calls),
    FD_COLUMN_IN("ns", figure_row, "gpu_self", U64, sums.gpu_self),
    FD_COLUMN_IN("ns", figure_row, "gpu_total", U64, sums.gpu_total),
    FD_COLUMN_IN("ns", figure_row, "gpu_starved", U64, sums.gpu_starved),
};

typedef struct counter_row {
    uint32_t counter;
    uint64_t count;
} counter_row;

static const fd_column counter_columns[] = {
    FD_COLUMN_OF_NAMES(counter_row, "counter", U32, counter, fd_counter_names),
    FD_COLUMN(counter_row, "count", U64, count),
};

static const fd_column rank_columns[] = {
    FD_COLUMN(fd_trace_rank, "world", U32, world),
    FD_COLUMN(fd_trace_rank, "pid", U32, pid),
    FD_COLUMN(fd_trace_rank, "id", CHARS, id),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "state", U32, state, fd_state_names),
    FD_COLUMN(fd_trace_rank, "incomplete", BOOL, incomplete),
    FD_COLUMN(fd_trace_rank, "timing", U32, timing),
    FD_COLUMN(fd_trace_rank, "steps", U64, steps),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "steps_source", U32, steps_source,
                       fd_steps_source_names),
    FD_COLUMN_IN("ns", fd_trace_rank, "recorded", U64, recorded),
    FD_COLUMN_IN("ns", fd_trace_rank, "whole", U64, whole),
    FD_COLUMN_IN("bytes", fd_trace_rank, "file_bytes", U64, file_bytes),
    FD_COLUMN_IN("ns", fd_trace_rank, "started", U64, start.realtime_ns),
};

static const fd_table nodes = FD_TABLE("nodes", node_columns, node_row, false);
static const fd_table modules =
    FD_TABLE("modules", module_columns, module_row, false);
static const fd_table contexts =
    FD_TABLE("contexts", context_columns, context_row, false);
static const fd_table figures =
    FD_TABLE("figures", figure_columns, figure_row, false);
static const fd_table counters =
    FD_TABLE("counters", counter_columns, counter_row, false);
static const fd_table ranks =
    FD_TABLE("ranks", rank_columns, fd_trace_rank, false);

void
fd_table_rows_clear(fd_table_rows *batch)
{
    fd_arena_clear(&batch->arena);
    batch->list = NULL;
    batch->count = 0;
}

/* Allocate `count` own rows of `size` bytes. */
static void *
own_rows(fd_table_rows *batch, uint32_t count, size_t size)
{
    void *rows = fd_arena_new(&batch->arena, (size_t)count + 1, size);
    batch->list = rows;
    return rows;
}

/* Return the name of a node or a module. */
static const char *
name_of(fd_table_rows *batch, const fd_trace *trace, uint32_t id,
        void (*write)(const fd_trace *, uint32_t, fd_buffer *))
{
    fd_buffer *text = fd_arena_buffer(&batch->arena);
    write(trace, id, text);
    fd_buffer_bytes(text, "", 1);
    fd_arena_check(&batch->arena, text->status);
    return text->bytes;
}

static void
fill_nodes(fd_table_rows *batch, const fd_trace *trace, const uint64_t *paths,
           uint32_t rank)
{
    (void)paths;
    (void)rank;
    node_row *rows = own_rows(batch, trace->nodes.count, sizeof *rows);
    for (uint32_t i = 1; i < trace->nodes.count; i++) {
        rows[batch->count++] =
            (node_row){i - 1, trace->nodes.list[i],
                       name_of(batch, trace, i, fd_trace_node_key)};
    }
}

static void
fill_modules(fd_table_rows *batch, const fd_trace *trace,
             const uint64_t *paths, uint32_t rank)
{
    (void)paths;
    (void)rank;
    module_row *rows = own_rows(batch, trace->modules.count, sizeof *rows);
    for (uint32_t i = 1; i < trace->modules.count; i++) {
        rows[batch->count++] =
            (module_row){i - 1, trace->modules.list[i],
                         name_of(batch, trace, i, fd_trace_module_name)};
    }
}

static void
fill_contexts(fd_table_rows *batch, const fd_trace *trace,
              const uint64_t *paths, uint32_t rank)
{
    (void)rank;
    context_row *rows = own_rows(batch, trace->contexts.count, sizeof *rows);
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        rows[batch->count++] =
            (context_row){i - 1, paths[i], trace->contexts.list[i]};
    }
}

static bool
has_figures(const fd_total *total)
{
    return total->calls > 0 || total->resumes > 0 || total->total > 0
        || total->async > 0 || total->ops > 0 || total->backward != 0
        || total->gpu_calls > 0 || total->gpu_total > 0;
}

static void
release_totals(void *totals)
{
    fd_totals_clear(totals);
}

/* Add the sums of the contexts of the rank, by context. */
static void
fill_figures(fd_table_rows *batch, const fd_trace *trace,
             const uint64_t *paths, uint32_t rank)
{
    const fd_trace_rank *of = &trace->ranks.list[rank];
    const fd_figure *next = of->figures.list;
    const fd_figure *end = next + of->figures.count;
    fd_totals *totals =
        fd_arena_owned(&batch->arena, sizeof *totals, release_totals);
    fd_arena_check(&batch->arena,
                   fd_totals_sum(totals, trace, (int)rank, false));
    figure_row *rows = own_rows(batch, trace->contexts.count, sizeof *rows);
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        while (next < end && next->context < i) {
            next++;
        }
        bool own = next < end && next->context == i;
        if (own || has_figures(&totals->list[i])) {
            rows[batch->count++] =
                (figure_row){i, paths[i], totals->list[i],
                             own ? *next : (fd_figure){.context = i}};
        }
    }
}

static void
fill_counters(fd_table_rows *batch, const fd_trace *trace,
              const uint64_t *paths, uint32_t rank)
{
    (void)paths;
    counter_row *rows = own_rows(batch, FD_COUNT_USED, sizeof *rows);
    const uint64_t *counts = trace->ranks.list[rank].counters;
    for (uint32_t i = 0; i < FD_COUNT_USED; i++) {
        if (counts[i] > 0) {
            rows[batch->count++] = (counter_row){i, counts[i]};
        }
    }
}

static void
fill_ranks(fd_table_rows *batch, const fd_trace *trace, const uint64_t *paths,
           uint32_t rank)
{
    (void)paths;
    batch->list = &trace->ranks.list[rank];
    batch->count = 1;
}

static const struct {
    const char *name;
    fd_arrow_table table;
} tables[] = {
    {"nodes", {&nodes, fill_nodes, false}},
    {"modules", {&modules, fill_modules, false}},
    {"contexts", {&contexts, fill_contexts, false}},
    {"ranks", {&ranks, fill_ranks, true}},
    {"facts", {&fd_facts_table, NULL, true}},
    {"counters", {&counters, fill_counters, true}},
    {"figures", {&figures, fill_figures, true}},
    {"steps", {&fd_steps_table, NULL, true}},
    {"threads", {&fd_threads_table, NULL, true}},
    {"jobs", {&fd_jobs_table, NULL, true}},
    {"open_calls", {&fd_open_table, NULL, true}},
    {"measures", {&fd_measures_table, NULL, true}},
    {"gpu", {&fd_gpu_table, NULL, true}},
};

fd_status
fd_table_rows_fill(fd_table_rows *batch, const fd_arrow_table *table,
                   const fd_trace *trace, const uint64_t *paths, uint32_t rank)
{
    if (table->fill == NULL) {
        const fd_rank_list *rows =
            fd_rank_rows_of(&trace->ranks.list[rank], table->table);
        batch->list = rows->list;
        batch->count = rows->count;
        return FD_OK;
    }
    if (fd_arena_caught(&batch->arena, NULL)) {
        return batch->arena.status;
    }
    table->fill(batch, trace, paths, rank);
    return fd_arena_left(&batch->arena);
}

const fd_arrow_table *
fd_arrow_table_of(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].name, name) == 0) {
            return &tables[i].table;
        }
    }
    return NULL;
}

const char *
fd_arrow_table_name(size_t index)
{
    return index < sizeof tables / sizeof *tables ? tables[index].name : NULL;
}
