/* Trace.table and .groups: sums over groups of contexts. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "module/field_tables.h"
#include "profile/profile_rows.h"

static const fd_column group_columns[] = {
    FD_COLUMN(fd_group, "where", TEXT, label),
    FD_COLUMN(fd_group, "node", INDEX, node),
    FD_COLUMN(fd_group, "instances", U32, members),
};
static const fd_table groups_table =
    FD_TABLE("groups", group_columns, fd_group, true);

static const char *const grouping_names[] = {
    "node", "function", "operator", "module", "package", "kernel", NULL};

static bool
take_grouping(const char *name, fd_grouping *grouping)
{
    int found = fd_choose_name("by", name, grouping_names);
    *grouping = (fd_grouping)found;
    return found >= 0;
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
        fd_columns_join(columns, fd_columns(&fd_rows_table, rows.list,
                                            rows.count, &groups->labels));
    fd_vector_clear(&rows);
    return columns;
}

PyObject *
fd_trace_table(PyObject *self, PyObject *args)
{
    const char *by = "function";
    int rank = FD_ALL_RANKS;
    fd_grouping grouping;
    const fd_trace *trace = fd_trace_of(self);
    if (!PyArg_ParseTuple(args, "|si", &by, &rank)
        || !fd_trace_rank_fits(self, rank) || !take_grouping(by, &grouping)) {
        return NULL;
    }
    fd_totals totals = {.list = NULL};
    fd_groups groups = {.of_context = NULL};
    bool made = fd_totals_sum(&totals, trace, rank, false) == FD_OK
             && fd_groups_make(&groups, trace, grouping) == FD_OK;
    PyObject *columns =
        made ? group_totals(trace, &groups, &totals) : PyErr_NoMemory();
    fd_totals_clear(&totals);
    fd_groups_clear(&groups);
    return columns;
}

PyObject *
fd_trace_groups(PyObject *self, PyObject *args)
{
    const char *by = "function";
    fd_grouping grouping;
    const fd_trace *trace = fd_trace_of(self);
    if (!PyArg_ParseTuple(args, "|s:groups", &by)
        || !take_grouping(by, &grouping)) {
        return NULL;
    }
    fd_groups groups = {.of_context = NULL};
    /* Context 0 is not a context. */
    PyObject *made = fd_groups_make(&groups, trace, grouping) == FD_OK
                       ? fd_value_list(FD_COLUMN_INDEX, groups.of_context + 1,
                                       sizeof *groups.of_context,
                                       trace->contexts.count - 1)
                       : PyErr_NoMemory();
    fd_groups_clear(&groups);
    return made;
}
