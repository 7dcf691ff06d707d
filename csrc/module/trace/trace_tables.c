/* Trace.nodes, .modules and .contexts: the tables shared by all ranks, and
 * sums per context. */
#include "module/trace/trace_type.h"

#include "module/field_tables.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

PyObject *
fd_trace_nodes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *columns = fd_columns(&fd_nodes_table, trace->nodes.list,
                                   trace->nodes.count, &trace->texts);
    return fd_columns_with(
        columns, "key",
        fd_trace_texts(trace, trace->nodes.count, fd_trace_node_key));
}

PyObject *
fd_trace_modules(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *columns = fd_columns(&fd_modules_table, trace->modules.list,
                                   trace->modules.count, &trace->texts);
    return fd_columns_with(
        columns, "path",
        fd_trace_texts(trace, trace->modules.count, fd_trace_module_name));
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

static fd_status
sum_contexts(fd_totals *totals, const fd_trace *trace, int rank, int steady)
{
    return steady != 0 ? fd_totals_sum_steady(totals, trace, rank)
                       : fd_totals_sum(totals, trace, rank);
}

PyObject *
fd_trace_contexts(PyObject *self, PyObject *args)
{
    int rank = FD_ALL_RANKS;
    int steady = 0;
    const fd_trace *trace = fd_trace_of(self);
    fd_totals totals;
    if (!PyArg_ParseTuple(args, "|ip:contexts", &rank, &steady)
        || !fd_trace_rank_fits(self, rank)) {
        return NULL;
    }
    if (sum_contexts(&totals, trace, rank, steady) != FD_OK) {
        return PyErr_NoMemory();
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
    int rank = FD_ALL_RANKS;
    int steady = 0;
    const fd_trace *trace = fd_trace_of(self);
    fd_totals totals;
    if (!PyArg_ParseTuple(args, "|ip:totals", &rank, &steady)
        || !fd_trace_rank_fits(self, rank)) {
        return NULL;
    }
    if (sum_contexts(&totals, trace, rank, steady) != FD_OK) {
        return PyErr_NoMemory();
    }
    uint32_t count = trace->contexts.count;
    PyObject *columns = fd_arrays(&totals_table, totals.list, count);
    columns = fd_columns_join(columns,
                              fd_arrays(&spreads_table, totals.list, count));
    fd_totals_clear(&totals);
    return columns;
}
