/* Trace.columns: every table of a trace by its name; tables(): their columns;
 * Trace.arrays; Trace.contexts and .totals: sums per context. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "module/field_tables.h"
#include "profile/totals.h"
#include "trace/step_window.h"

#include <string.h>

static const fd_column line_columns[] = {
    FD_COLUMN(fd_open_call, "line", U32, line)};
static const fd_column slice_columns[] = {
    FD_COLUMN(fd_trace_job, "drawn", BOOL, drawn)};
static const fd_table slices_table =
    FD_TABLE("job_slices", slice_columns, fd_trace_job, false);
static const fd_table lines_table =
    FD_TABLE("open_lines", line_columns, fd_open_call, false);

/* What dumps state in another form. */
static const fd_column rest_columns[] = {
    FD_COLUMN(fd_trace_rank, "incomplete", BOOL, incomplete),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "counters", CHARS, counters,
                       fd_counter_names)};
static const fd_table rest_table =
    FD_TABLE("rest", rest_columns, fd_trace_rank, false);

/* Further columns of ranks. */
static const fd_column more_columns[] = {
    FD_COLUMN(fd_trace_rank, "incomplete", BOOL, incomplete),
    FD_COLUMN(fd_trace_rank, "start_realtime", U64, start.realtime_ns),
    FD_COLUMN(fd_trace_rank, "start_monotonic", U64, start.monotonic_ns),
    FD_COLUMN(fd_trace_rank, "flows", U32, flows.count),
    FD_COLUMN(fd_trace_rank, "flows_lost", U64, flows_lost),
    FD_COLUMN(fd_trace_rank, "whole", U64, whole),
    FD_COLUMN(fd_trace_rank, "reduced", BOOL, window.applied),
    FD_COLUMN(fd_trace_rank, "from", U32, window.from),
    FD_COLUMN(fd_trace_rank, "to", U32, window.to),
};
static const fd_table more_table =
    FD_TABLE("ranks", more_columns, fd_trace_rank, false);

static const char *const verdicts[] = {"settled", "varying", "few", "unmarked",
                                       "untimed", "unclear", NULL};
static const fd_column settling_columns[] = {
    FD_COLUMN_OF_NAMES(fd_settled, "verdict", U32, verdict, verdicts),
    FD_COLUMN(fd_settled, "slower", DOUBLE, slower),
    FD_COLUMN(fd_settled, "from", U32, from),
    FD_COLUMN(fd_settled, "to", U32, to),
};
static const fd_table settling_table =
    FD_TABLE("settling", settling_columns, fd_settled, false);

static const fd_column counter_columns[] = {
    {"count", FD_COLUMN_U64, 0, sizeof(uint64_t), NULL, NULL, false}};
static const fd_table counters_table =
    FD_TABLE("counters", counter_columns, uint64_t, false);

static bool
find_rows(const fd_table *table, const void *vector, const char *name,
          fd_trace_rows *rows)
{
    rows->table = table;
    rows->rows = (fd_rank_list *)(uintptr_t)vector;
    return table->count > 0 && strcmp(table->name, name) == 0;
}

/* Find a table of a rank, or further columns of it, its threads and its open
 * calls. */
static bool
find_of_rank(const fd_trace_rank *rank, const char *name, fd_trace_rows *rows)
{
    rows->own = (fd_rank_list){(void *)(uintptr_t)rank, 1, 1};
    rows->counters = (fd_rank_list){(void *)(uintptr_t)rank->counters,
                                    FD_COUNT_USED, FD_COUNT_USED};
    bool found = find_rows(&counters_table, &rows->counters, name, rows)
              || find_rows(&fd_live_table, &rank->threads, name, rows)
              || find_rows(&lines_table, &rank->open, name, rows)
              || find_rows(&slices_table, &rank->jobs, name, rows)
              || find_rows(&fd_rank_fields, &rows->own, name, rows)
              || find_rows(&fd_sparse_fields, &rows->own, name, rows)
              || find_rows(&fd_start_fields, &rows->own, name, rows)
              || find_rows(&fd_reduced_fields, &rows->own, name, rows)
              || find_rows(&rest_table, &rows->own, name, rows);
    for (int i = 0; i < FD_RANK_TABLES && !found; i++) {
        found = find_rows(fd_rank_tables[i].table, fd_rank_rows(rank, i), name,
                          rows);
    }
    return found;
}

/* Find a table that all ranks share, or facts about each rank. */
static bool
find_of_all(const fd_trace *trace, const char *name, fd_trace_rows *rows)
{
    return find_rows(&fd_nodes_table, &trace->nodes, name, rows)
        || find_rows(&fd_modules_table, &trace->modules, name, rows)
        || find_rows(&fd_contexts_table, &trace->contexts, name, rows)
        || find_rows(&fd_rank_fields, &trace->ranks, name, rows)
        || find_rows(&fd_sparse_fields, &trace->ranks, name, rows)
        || find_rows(&more_table, &trace->ranks, name, rows);
}

bool
fd_trace_rows_of(PyObject *self, const char *name, int rank,
                 fd_trace_rows *rows)
{
    fd_trace *trace = fd_trace_of(self);
    if (!fd_trace_rank_fits(self, rank)) {
        return false;
    }
    if (rank == FD_ALL_RANKS
            ? find_of_all(trace, name, rows)
            : find_of_rank(&trace->ranks.list[rank], name, rows)) {
        return true;
    }
    PyErr_Format(fd_value_error(), "%s: no such table%s", name,
                 rank == FD_ALL_RANKS ? " of all ranks" : " of a rank");
    return false;
}

/* Return the settled steps of each rank, whatever steps the figures cover. */
static PyObject *
settling_of(const fd_trace *trace)
{
    fd_settled *rows = fd_calloc((size_t)trace->ranks.count + 1, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < trace->ranks.count; i++) {
        rows[i] = fd_settle(&trace->ranks.list[i]);
    }
    PyObject *columns = rows == NULL ? PyErr_NoMemory()
                                     : fd_columns(&settling_table, rows,
                                                  trace->ranks.count, NULL);
    fd_free(rows);
    return columns;
}

/* Add the keys of nodes, or the paths of modules. */
static PyObject *
with_names(PyObject *columns, const fd_trace *trace, const fd_table *table)
{
    if (table == &fd_nodes_table) {
        return fd_columns_with(
            columns, "key",
            fd_trace_texts(trace, trace->nodes.count, fd_trace_node_key));
    }
    return table == &fd_modules_table
             ? fd_columns_with(columns, "path",
                               fd_trace_texts(trace, trace->modules.count,
                                              fd_trace_module_name))
             : columns;
}

static void
write_text(const fd_trace *trace, uint32_t id, fd_buffer *to)
{
    fd_buffer_bytes(to, fd_trace_text(trace, id),
                    fd_text_pool_size(&trace->texts, id));
}

PyObject *
fd_trace_columns(PyObject *self, PyObject *args)
{
    const char *name;
    int rank = FD_ALL_RANKS;
    fd_trace_rows rows;
    const fd_trace *trace = fd_trace_of(self);
    if (!PyArg_ParseTuple(args, "s|i:columns", &name, &rank)) {
        return NULL;
    }
    if (rank == FD_ALL_RANKS && strcmp(name, settling_table.name) == 0) {
        return settling_of(trace);
    }
    if (rank == FD_ALL_RANKS && strcmp(name, "strings") == 0) {
        return fd_columns_with(
            PyDict_New(), "string",
            fd_trace_texts(trace, trace->texts.texts.count, write_text));
    }
    return fd_trace_rows_of(self, name, rank, &rows)
             ? with_names(fd_columns(rows.table, rows.rows->list,
                                     rows.rows->count, &trace->texts),
                          trace, rows.table)
             : NULL;
}

PyObject *
fd_trace_arrays(PyObject *self, PyObject *args)
{
    const char *name;
    int rank = FD_ALL_RANKS;
    fd_trace_rows rows;
    return PyArg_ParseTuple(args, "s|i:arrays", &name, &rank)
                && fd_trace_rows_of(self, name, rank, &rows)
             ? fd_arrays(rows.table, rows.rows->list, rows.rows->count,
                         &fd_trace_of(self)->texts)
             : NULL;
}

static const fd_column total_columns[] = {
    FD_COLUMN(fd_total, "calls", U64, calls),
    FD_COLUMN(fd_total, "resumes", U64, resumes),
    FD_COLUMN(fd_total, "self", U64, self),
    FD_COLUMN(fd_total, "total", U64, total),
    FD_COLUMN(fd_total, "ops", U64, ops),
    FD_COLUMN(fd_total, "backward", I64, backward),
    FD_COLUMN(fd_total, "async", U64, async),
    FD_COLUMN(fd_total, "gpu_calls", U64, gpu_calls),
    FD_COLUMN(fd_total, "gpu_self", U64, gpu_self),
    FD_COLUMN(fd_total, "gpu_total", U64, gpu_total),
    FD_COLUMN(fd_total, "gpu_backward", I64, gpu_backward),
    FD_COLUMN(fd_total, "gpu_starved", U64, gpu_starved),
    FD_COLUMN(fd_total, "gpu_drained", U64, gpu_drained),
    FD_COLUMN(fd_total, "gpu_launch_bound", U64, gpu_launch_bound),
    FD_COLUMN(fd_total, "steps", U32, steps),
};
static const fd_table totals_table =
    FD_TABLE("totals", total_columns, fd_total, true);

static const fd_column spread_columns[] = {
    FD_COLUMN(fd_total, "least", U64, least),
    FD_COLUMN(fd_total, "self_stepped", U64, self_stepped),
    FD_COLUMN(fd_total, "self_squares", DOUBLE, self_squares),
    FD_COLUMN(fd_total, "total_stepped", U64, total_stepped),
    FD_COLUMN(fd_total, "total_squares", DOUBLE, total_squares),
    FD_COLUMN(fd_total, "communicated", U64, communicated),
    FD_COLUMN(fd_total, "allocated", U64, allocated),
};
static const fd_table spreads_table =
    FD_TABLE("spreads", spread_columns, fd_total, true);

/* Sum up for the arguments (rank, steady). Return false with an exception on
 * failure. */
static bool
sum_contexts(fd_totals *totals, PyObject *self, PyObject *args)
{
    int rank = FD_ALL_RANKS;
    int steady = 0;
    if (!PyArg_ParseTuple(args, "|ip", &rank, &steady)
        || !fd_trace_rank_fits(self, rank)) {
        return false;
    }
    if (fd_totals_sum(totals, fd_trace_of(self), rank, steady != 0) != FD_OK) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

PyObject *
fd_trace_contexts(PyObject *self, PyObject *args)
{
    const fd_trace *trace = fd_trace_of(self);
    fd_totals totals;
    if (!sum_contexts(&totals, self, args)) {
        return NULL;
    }
    PyObject *columns = fd_columns(&fd_contexts_table, trace->contexts.list,
                                   trace->contexts.count, &trace->texts);
    columns = fd_columns_join(columns, fd_columns(&totals_table, totals.list,
                                                  trace->contexts.count,
                                                  &trace->texts));
    fd_totals_clear(&totals);
    return columns;
}

PyObject *
fd_trace_totals(PyObject *self, PyObject *args)
{
    const fd_trace *trace = fd_trace_of(self);
    fd_totals totals;
    if (!sum_contexts(&totals, self, args)) {
        return NULL;
    }
    uint32_t count = trace->contexts.count;
    PyObject *columns = fd_arrays(&totals_table, totals.list, count, NULL);
    columns = fd_columns_join(
        columns, fd_arrays(&spreads_table, totals.list, count, NULL));
    fd_totals_clear(&totals);
    return columns;
}

static PyObject *
names_of(const fd_column *column)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; column->names != NULL && column->names[i] != NULL; i++) {
        names = fd_list_with(names, PyUnicode_FromString(column->names[i]));
    }
    return names;
}

/* Return [(column, type, names, newer, unit)]. */
static PyObject *
table_facts(const fd_table *table)
{
    static const char *const types[] = {
        [FD_COLUMN_INDEX] = "index",   [FD_COLUMN_CONTEXT] = "index",
        [FD_COLUMN_TEXT] = "text",     [FD_COLUMN_U8] = "B",
        [FD_COLUMN_U16] = "H",         [FD_COLUMN_BOOL] = "bool",
        [FD_COLUMN_U32] = "I",         [FD_COLUMN_U64] = "Q",
        [FD_COLUMN_DOUBLE] = "double", [FD_COLUMN_U64_OR_NONE] = "maybe",
        [FD_COLUMN_CHARS] = "chars"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < table->count; i++) {
        const fd_column *column = &table->columns[i];
        list = fd_list_with(
            list,
            Py_BuildValue("ssNOz", column->name, types[column->type],
                          names_of(column), column->newer ? Py_True : Py_False,
                          column->unit));
    }
    return list;
}

/* Return {table: columns}. */
PyObject *
fd_tables_py(PyObject *module, PyObject *unused)
{
    static const fd_table *const others[] = {
        &fd_nodes_table,    &fd_modules_table, &fd_contexts_table,
        &fd_rank_fields,    &fd_sparse_fields, &fd_start_fields,
        &fd_reduced_fields, &rest_table,       &fd_live_table};
    PyObject *made = PyDict_New();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        made = fd_columns_with(made, others[i]->name, table_facts(others[i]));
    }
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        const fd_table *table = fd_rank_tables[i].table;
        made = fd_columns_with(made, table->name, table_facts(table));
    }
    (void)module;
    (void)unused;
    return made;
}
