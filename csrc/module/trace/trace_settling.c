/* Trace.unsettled and .settle: jobs of pipelines before and after their
 * comparison with plans. */
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/trace/trace_type.h"
#include "recording/recording_format.h"
#include "trace/canonical_order.h"
#include "trace/fact_changes.h"
#include "trace/trace_columns.h"

static const char FACT[] = "pipeline";

enum { MOST_CHANGES = 8 };

static PyObject *
iteration_columns(const fd_trace_rank *rank)
{
    static const fd_column columns[] = {
        FD_COLUMN(fd_trace_iteration, "job", U32, job),
        FD_COLUMN(fd_trace_iteration, "flags", U32, flags),
        FD_COLUMN(fd_trace_iteration, "micro_batches", INDEX, micro_batches),
        FD_COLUMN(fd_trace_iteration, "stages", INDEX, stages),
        FD_COLUMN(fd_trace_iteration, "processes", INDEX, processes),
        FD_COLUMN(fd_trace_iteration, "position", INDEX, position),
        FD_COLUMN(fd_trace_iteration, "schedule", CHARS, schedule),
    };
    static const fd_table table =
        FD_TABLE("iterations", columns, fd_trace_iteration, false);
    return fd_columns(&table, rank->iterations.list, rank->iterations.count,
                      NULL);
}

static PyObject *
fact_object(const char *fact)
{
    return fact == NULL
             ? Py_NewRef(Py_None)
             : PyUnicode_DecodeUTF8(fact, (Py_ssize_t)strlen(fact), "replace");
}

/* [(index of the rank, JSON of its fact or None, its iterations)] */
PyObject *
fd_trace_unsettled(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < trace->ranks.count && list != NULL; i++) {
        const fd_trace_rank *rank = &trace->ranks.list[i];
        const char *fact = fd_rank_fact(trace, rank, FACT);
        if (fact != NULL || rank->iterations.count > 0) {
            list =
                fd_list_with(list, Py_BuildValue("(INN)", i, fact_object(fact),
                                                 iteration_columns(rank)));
        }
    }
    return list;
}

static bool
mark_unplanned(fd_trace_rank *rank, PyObject *rows)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
        size_t row = PyLong_AsSize_t(PyList_GET_ITEM(rows, i));
        if (row == (size_t)-1 && PyErr_Occurred()) {
            return false;
        }
        if (row < rank->jobs.count) {
            rank->jobs.list[row].flags |= FD_JOB_UNPLANNED;
        }
    }
    rank->iterations.count = 0;
    return true;
}

static fd_status
change_facts(fd_trace *trace, fd_trace_rank *rank, PyObject *changes)
{
    fd_fact_change list[MOST_CHANGES];
    uint32_t count = 0;
    Py_ssize_t at = 0;
    PyObject *name;
    PyObject *text;
    while (count < MOST_CHANGES && PyDict_Next(changes, &at, &name, &text)) {
        list[count] =
            (fd_fact_change){PyUnicode_AsUTF8(name), PyUnicode_AsUTF8(text)};
        if (list[count].name == NULL || list[count].text == NULL) {
            return FD_EINVAL;
        }
        count++;
    }
    return fd_rank_change_fact(trace, rank, FACT, list, count);
}

/* Settle one rank. Return false with an exception on failure. */
static bool
settle_rank(PyObject *self, PyObject *item)
{
    int index;
    PyObject *rows;
    PyObject *changes;
    if (!PyArg_Parse(item, "(iO!O!)", &index, &PyList_Type, &rows,
                     &PyDict_Type, &changes)
        || !fd_trace_rank_fits(self, index)) {
        return false;
    }
    fd_trace *trace = fd_trace_of(self);
    fd_trace_rank *rank = &trace->ranks.list[index < 0 ? 0 : index];
    if (!mark_unplanned(rank, rows)) {
        return false;
    }
    fd_status status = change_facts(trace, rank, changes);
    if (status == FD_ENOMEM) {
        PyErr_NoMemory();
    }
    return status == FD_OK;
}

PyObject *
fd_trace_settle(PyObject *self, PyObject *ranks)
{
    fd_trace *trace = fd_trace_of(self);
    bool was_sorted = trace->sorted;
    if (!PyList_Check(ranks)) {
        PyErr_SetString(PyExc_TypeError, "ranks must be a list");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ranks); i++) {
        if (!settle_rank(self, PyList_GET_ITEM(ranks, i))) {
            return NULL;
        }
    }
    fd_error error = {""};
    fd_status status =
        was_sorted && !trace->sorted ? fd_trace_sort(trace) : FD_OK;
    return fd_none_or_raise(fd_module_of(self), status, &error);
}
