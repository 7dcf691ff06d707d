/* Trace.nodes, .modules, .contexts: the tables as they are, with sums beside
 * the contexts. */
#include "module/trace/trace_type.h"

#include "module/trace/column_dicts.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

PyObject *
fd_trace_nodes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *columns = fd_columns(&fd_nodes_table, trace->nodes.list,
                                   trace->nodes.count, &trace->texts);
    return fd_columns_with(columns, "key", fd_node_keys(trace));
}

PyObject *
fd_trace_modules(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *columns = fd_columns(&fd_modules_table, trace->modules.list,
                                   trace->modules.count, &trace->texts);
    return fd_columns_with(columns, "path", fd_module_paths(trace));
}

static const fd_column total_columns[] = {
    {"calls", FD_COLUMN_U64, offsetof(fd_total, calls), NULL},
    {"resumes", FD_COLUMN_U64, offsetof(fd_total, resumes), NULL},
    {"self", FD_COLUMN_U64, offsetof(fd_total, self), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_total, total), NULL},
    {"ops", FD_COLUMN_U64, offsetof(fd_total, ops), NULL},
    {"backward", FD_COLUMN_I64, offsetof(fd_total, backward), NULL},
    {"async", FD_COLUMN_U64, offsetof(fd_total, async), NULL},
    {"gpu_calls", FD_COLUMN_U64, offsetof(fd_total, gpu_calls), NULL},
    {"gpu_self", FD_COLUMN_U64, offsetof(fd_total, gpu_self), NULL},
    {"gpu_total", FD_COLUMN_U64, offsetof(fd_total, gpu_total), NULL},
    {"gpu_starved", FD_COLUMN_U64, offsetof(fd_total, gpu_starved), NULL},
    {"gpu_launch_bound", FD_COLUMN_U64, offsetof(fd_total, gpu_launch_bound),
     NULL},
    {"steps", FD_COLUMN_U32, offsetof(fd_total, steps), NULL},
};
static const fd_table totals_table = {
    "totals", total_columns, sizeof total_columns / sizeof *total_columns,
    sizeof(fd_total), true};

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
    fd_status status = steady != 0 ? fd_totals_sum_steady(&totals, trace, rank)
                                   : fd_totals_sum(&totals, trace, rank);
    if (status != FD_OK) {
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
