#include "columns/stream_tables.h"

#include "base/alloc.h"
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
    fd_free(batch->owned);
    fd_buffer_clear(&batch->strings);
    *batch = (fd_table_rows){.list = NULL};
}

/* Allocate `count` owned rows of `size` bytes. */
static void *
own_rows(fd_table_rows *batch, uint32_t count, size_t size)
{
    batch->owned = fd_calloc((size_t)count + 1, size);
    batch->list = batch->owned;
    return batch->owned;
}

typedef void write_name(const fd_trace *, uint32_t, fd_buffer *);

/* Return the names of nodes or modules by number, or NULL after a failed
 * allocation. The caller frees the list; the texts are in the strings of the
 * batch. */
static const char **
names_of(fd_table_rows *batch, const fd_trace *trace, uint32_t count,
         write_name *write)
{
    size_t *places = fd_calloc((size_t)count + 1, sizeof *places);
    const char **names = fd_calloc((size_t)count + 1, sizeof *names);
    for (uint32_t i = 1; places != NULL && i < count; i++) {
        places[i] = batch->strings.size;
        write(trace, i, &batch->strings);
        fd_buffer_bytes(&batch->strings, "", 1);
    }
    if (places == NULL || names == NULL || batch->strings.status != FD_OK) {
        fd_free(names);
        names = NULL;
    }
    for (uint32_t i = 1; names != NULL && i < count; i++) {
        names[i] = batch->strings.bytes + places[i];
    }
    fd_free(places);
    return names;
}

typedef void make_row(void *row, const fd_trace *, uint32_t id,
                      const char *name);

/* Add rows 1 to count - 1 of the trace, each with its name. */
static fd_status
fill_named(fd_table_rows *batch, const fd_trace *trace, uint32_t count,
           size_t row_bytes, write_name *write, make_row *make)
{
    char *rows = own_rows(batch, count, row_bytes);
    const char **names = names_of(batch, trace, count, write);
    fd_status status = rows != NULL && names != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 1; status == FD_OK && i < count; i++) {
        make(rows + batch->count++ * row_bytes, trace, i, names[i]);
    }
    fd_free(names);
    return status;
}

static void
make_node(void *row, const fd_trace *trace, uint32_t id, const char *name)
{
    *(node_row *)row = (node_row){id - 1, trace->nodes.list[id], name};
}

static void
make_module(void *row, const fd_trace *trace, uint32_t id, const char *name)
{
    *(module_row *)row = (module_row){id - 1, trace->modules.list[id], name};
}

static fd_status
fill_nodes(fd_table_rows *batch, const fd_trace *trace, const uint64_t *paths,
           uint32_t rank)
{
    (void)paths;
    (void)rank;
    return fill_named(batch, trace, trace->nodes.count, sizeof(node_row),
                      fd_trace_node_key, make_node);
}

static fd_status
fill_modules(fd_table_rows *batch, const fd_trace *trace,
             const uint64_t *paths, uint32_t rank)
{
    (void)paths;
    (void)rank;
    return fill_named(batch, trace, trace->modules.count, sizeof(module_row),
                      fd_trace_module_name, make_module);
}

static fd_status
fill_contexts(fd_table_rows *batch, const fd_trace *trace,
              const uint64_t *paths, uint32_t rank)
{
    (void)rank;
    context_row *rows = own_rows(batch, trace->contexts.count, sizeof *rows);
    for (uint32_t i = 1; rows != NULL && i < trace->contexts.count; i++) {
        rows[batch->count++] =
            (context_row){i - 1, paths[i], trace->contexts.list[i]};
    }
    return rows != NULL ? FD_OK : FD_ENOMEM;
}

static bool
has_figures(const fd_total *total)
{
    return total->calls > 0 || total->resumes > 0 || total->total > 0
        || total->async > 0 || total->ops > 0 || total->backward != 0
        || total->gpu_calls > 0 || total->gpu_total > 0;
}

/* Add the sums of the contexts of the rank, by context. */
static void
add_sums(fd_table_rows *batch, const fd_totals *totals, const uint64_t *paths,
         uint32_t count, const fd_trace_rank *rank)
{
    figure_row *rows = batch->owned;
    uint32_t at = 0;
    for (uint32_t i = 1; i < count; i++) {
        while (at < rank->figures.count
               && rank->figures.list[at].context < i) {
            at++;
        }
        bool own =
            at < rank->figures.count && rank->figures.list[at].context == i;
        if (own || has_figures(&totals->list[i])) {
            figure_row *row = &rows[batch->count++];
            *row = (figure_row){i, paths[i], totals->list[i], {.context = i}};
            if (own) {
                row->spread = rank->figures.list[at];
            }
        }
    }
}

static fd_status
fill_figures(fd_table_rows *batch, const fd_trace *trace,
             const uint64_t *paths, uint32_t rank)
{
    fd_totals totals = {.list = NULL};
    uint32_t count = trace->contexts.count;
    fd_status status = fd_totals_sum(&totals, trace, (int)rank, false);
    if (status == FD_OK
        && own_rows(batch, count, sizeof(figure_row)) == NULL) {
        status = FD_ENOMEM;
    }
    if (status == FD_OK) {
        add_sums(batch, &totals, paths, count, &trace->ranks.list[rank]);
    }
    fd_totals_clear(&totals);
    return status;
}

static fd_status
fill_counters(fd_table_rows *batch, const fd_trace *trace,
              const uint64_t *paths, uint32_t rank)
{
    (void)paths;
    counter_row *rows = own_rows(batch, FD_COUNT_USED, sizeof *rows);
    const uint64_t *counts = trace->ranks.list[rank].counters;
    for (uint32_t i = 0; rows != NULL && i < FD_COUNT_USED; i++) {
        if (counts[i] > 0) {
            rows[batch->count++] = (counter_row){i, counts[i]};
        }
    }
    return rows != NULL ? FD_OK : FD_ENOMEM;
}

static fd_status
fill_ranks(fd_table_rows *batch, const fd_trace *trace, const uint64_t *paths,
           uint32_t rank)
{
    (void)paths;
    batch->list = &trace->ranks.list[rank];
    batch->count = 1;
    return FD_OK;
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
    if (table->fill != NULL) {
        return table->fill(batch, trace, paths, rank);
    }
    const fd_rank_list *rows =
        fd_rank_rows_of(&trace->ranks.list[rank], table->table);
    batch->list = rows->list;
    batch->count = rows->count;
    return FD_OK;
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
