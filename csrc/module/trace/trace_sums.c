/* Trace.table, .edges and .coverage: sums over groups of contexts. */
#include "module/trace/trace_type.h"

#include "module/trace/column_dicts.h"
#include "profile/group_edges.h"
#include "profile/profile_rows.h"

static const fd_column row_columns[] = {
    {"calls", FD_COLUMN_U64, offsetof(fd_row, calls), NULL},
    {"resumes", FD_COLUMN_U64, offsetof(fd_row, resumes), NULL},
    {"ops", FD_COLUMN_U64, offsetof(fd_row, ops), NULL},
    {"self", FD_COLUMN_U64, offsetof(fd_row, self), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_row, total), NULL},
    {"backward", FD_COLUMN_I64, offsetof(fd_row, backward), NULL},
    {"async", FD_COLUMN_U64, offsetof(fd_row, async), NULL},
    {"hidden", FD_COLUMN_U64, offsetof(fd_row, hidden), NULL},
    {"gpu_calls", FD_COLUMN_U64, offsetof(fd_row, gpu_calls), NULL},
    {"gpu_self", FD_COLUMN_U64, offsetof(fd_row, gpu_self), NULL},
    {"gpu_total", FD_COLUMN_U64, offsetof(fd_row, gpu_total), NULL},
    {"gpu_starved", FD_COLUMN_U64, offsetof(fd_row, gpu_starved), NULL},
    {"step_mean", FD_COLUMN_DOUBLE, offsetof(fd_row, step_mean), NULL},
    {"step_deviation", FD_COLUMN_DOUBLE, offsetof(fd_row, step_deviation),
     NULL},
};
static const fd_table rows_table = {"rows", row_columns,
                                    sizeof row_columns / sizeof *row_columns,
                                    sizeof(fd_row), true};

static const fd_column group_columns[] = {
    {"where", FD_COLUMN_TEXT, offsetof(fd_group, label), NULL},
    {"node", FD_COLUMN_INDEX, offsetof(fd_group, node), NULL},
    {"instances", FD_COLUMN_U32, offsetof(fd_group, members), NULL},
};
static const fd_table groups_table = {
    "groups", group_columns, sizeof group_columns / sizeof *group_columns,
    sizeof(fd_group), true};

static const fd_column edge_columns[] = {
    {"caller", FD_COLUMN_INDEX, offsetof(fd_edge, caller), NULL},
    {"callee", FD_COLUMN_INDEX, offsetof(fd_edge, callee), NULL},
    {"calls", FD_COLUMN_U64, offsetof(fd_edge, calls), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_edge, total), NULL},
};
static const fd_table edges_table = {
    "edges", edge_columns, sizeof edge_columns / sizeof *edge_columns,
    sizeof(fd_edge), false};

static const char *const grouping_names[] = {"node",   "function", "operator",
                                             "module", "package",  NULL};

bool
fd_take_grouping(const char *name, fd_grouping *grouping)
{
    for (int i = 0; grouping_names[i] != NULL; i++) {
        if (strcmp(grouping_names[i], name) == 0) {
            *grouping = (fd_grouping)i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "by=%s: one of node, function, operator, module, package",
                 name);
    return false;
}

static PyObject *
group_totals(const fd_trace *trace, const fd_groups *groups,
             const fd_totals *totals)
{
    fd_rows rows = {NULL, 0, 0};
    if (fd_rows_sum(&rows, trace, groups, totals) != FD_OK) {
        return PyErr_NoMemory();
    }
    PyObject *columns = fd_columns(&groups_table, groups->list.list,
                                   groups->list.count, &groups->labels);
    columns =
        fd_columns_join(columns, fd_columns(&rows_table, rows.list, rows.count,
                                            &groups->labels));
    fd_vector_clear(&rows);
    return columns;
}

static PyObject *
group_edges(const fd_trace *trace, const fd_groups *groups,
            const fd_totals *totals)
{
    fd_edges edges = {NULL, 0, 0};
    PyObject *columns = NULL;
    if (fd_edges_sum(&edges, trace, groups, totals) != FD_OK) {
        PyErr_NoMemory();
    }
    else {
        columns =
            fd_columns(&edges_table, edges.list, edges.count, &groups->labels);
    }
    fd_vector_clear(&edges);
    return columns;
}

typedef PyObject *summary(const fd_trace *, const fd_groups *,
                          const fd_totals *);

static PyObject *
summarise(PyObject *self, PyObject *args, summary *sum)
{
    const char *by = "function";
    int rank = FD_ALL_RANKS;
    fd_grouping grouping;
    const fd_trace *trace = fd_trace_of(self);
    if (!PyArg_ParseTuple(args, "|si", &by, &rank)
        || !fd_trace_rank_fits(self, rank)
        || !fd_take_grouping(by, &grouping)) {
        return NULL;
    }
    fd_totals totals = {.list = NULL};
    fd_groups groups = {.of_context = NULL};
    PyObject *columns = NULL;
    if (fd_totals_sum(&totals, trace, rank) != FD_OK
        || fd_groups_make(&groups, trace, grouping) != FD_OK) {
        PyErr_NoMemory();
    }
    else {
        columns = sum(trace, &groups, &totals);
    }
    fd_totals_clear(&totals);
    fd_groups_clear(&groups);
    return columns;
}

PyObject *
fd_trace_table(PyObject *self, PyObject *args)
{
    return summarise(self, args, group_totals);
}

PyObject *
fd_trace_edges(PyObject *self, PyObject *args)
{
    return summarise(self, args, group_edges);
}

PyObject *
fd_trace_coverage(PyObject *self, PyObject *args)
{
    int rank = FD_ALL_RANKS;
    fd_totals totals;
    if (!PyArg_ParseTuple(args, "|i:coverage", &rank)
        || !fd_trace_rank_fits(self, rank)) {
        return NULL;
    }
    if (fd_totals_sum(&totals, fd_trace_of(self), rank) != FD_OK) {
        return PyErr_NoMemory();
    }
    fd_coverage coverage = totals.coverage;
    fd_totals_clear(&totals);
    return Py_BuildValue("{s:K,s:K,s:K}", "autograd",
                         (unsigned long long)coverage.autograd, "accumulate",
                         (unsigned long long)coverage.accumulate, "attributed",
                         (unsigned long long)coverage.attributed);
}
