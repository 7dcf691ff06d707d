/* Trace.reduced and .spreads: reduction of many ranks to one. */
#include "module/trace/trace_type.h"

#include "columns/rank_reduction.h"
#include "columns/rank_sketch.h"
#include "module/field_tables.h"
#include "trace/step_window.h"

/* A row of Trace.spreads; percentiles are estimated from the sketches. */
typedef struct spread_row {
    fd_rank_spread spread;
    uint64_t self_median;
    uint64_t self_p95;
    uint64_t total_median;
    uint64_t total_p95;
} spread_row;

static const fd_column percentile_columns[] = {
    FD_COLUMN(spread_row, "self_median", U64, self_median),
    FD_COLUMN(spread_row, "self_p95", U64, self_p95),
    FD_COLUMN(spread_row, "total_median", U64, total_median),
    FD_COLUMN(spread_row, "total_p95", U64, total_p95),
};
static const fd_table percentile_table =
    FD_TABLE("spreads", percentile_columns, spread_row, false);

static const fd_table *
spread_columns(fd_table *table)
{
    *table = fd_spreads_table;
    table->row_bytes = sizeof(spread_row);
    return table;
}

static spread_row
spread_row_of(const fd_trace_rank *rank, const fd_rank_spread *spread)
{
    const fd_rank_bucket *list = rank->buckets.list;
    uint32_t count = rank->buckets.count;
    fd_sketch self =
        fd_sketch_find(list, count, spread->context, FD_SKETCH_SELF);
    fd_sketch total =
        fd_sketch_find(list, count, spread->context, FD_SKETCH_TOTAL);
    return (spread_row){
        .spread = *spread,
        .self_median = fd_sketch_at(&self, &spread->self, 0.5),
        .self_p95 = fd_sketch_at(&self, &spread->self, 0.95),
        .total_median = fd_sketch_at(&total, &spread->total, 0.5),
        .total_p95 = fd_sketch_at(&total, &spread->total, 0.95),
    };
}

PyObject *
fd_trace_spreads(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    fd_table table;
    const fd_trace_rank *rank =
        trace->ranks.count > 0 ? &trace->ranks.list[0] : NULL;
    uint32_t count = rank != NULL ? rank->spreads.count : 0;
    spread_row *rows = fd_calloc((size_t)count + 1, sizeof *rows);
    if (rows == NULL) {
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = spread_row_of(rank, &rank->spreads.list[i]);
    }
    PyObject *made =
        fd_columns(spread_columns(&table), rows, count, &trace->texts);
    made = fd_columns_join(
        made, fd_columns(&percentile_table, rows, count, &trace->texts));
    fd_free(rows);
    return made;
}

/* Return the traces of `self` and of a list of Trace objects. */
static const fd_trace **
traces_in(PyObject *self, PyObject *others)
{
    size_t count = (size_t)PyTuple_GET_SIZE(others);
    const fd_trace **traces = fd_malloc((count + 1) * sizeof *traces);
    if (traces == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    traces[0] = fd_trace_of(self);
    for (size_t i = 0; i < count; i++) {
        PyObject *other = PyTuple_GET_ITEM(others, (Py_ssize_t)i);
        if (Py_TYPE(other) != Py_TYPE(self)) {
            PyErr_SetString(PyExc_TypeError, "a Trace is expected");
            fd_free(traces);
            return NULL;
        }
        traces[i + 1] = fd_trace_of(other);
    }
    return traces;
}

PyObject *
fd_trace_reduced(PyObject *self, PyObject *args)
{
    PyObject *others;
    const char *about;
    unsigned int limit;
    fd_trace *made = NULL;
    fd_status status;
    if (!PyArg_ParseTuple(args, "O!sI:reduced", &PyTuple_Type, &others, &about,
                          &limit)) {
        return NULL;
    }
    const fd_trace **traces = traces_in(self, others);
    if (traces == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        status = fd_ranks_reduce(
            &made, traces, (size_t)PyTuple_GET_SIZE(others) + 1, about, limit);
    Py_END_ALLOW_THREADS
    fd_free(traces);
    return status == FD_OK ? fd_trace_object(fd_module_of(self), made)
                           : PyErr_NoMemory();
}

PyObject *
fd_trace_settled(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_trace *made;
    const fd_trace *trace = fd_trace_of(self);
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_window_settled(&made, trace);
    Py_END_ALLOW_THREADS
    return status == FD_OK ? fd_trace_object(fd_module_of(self), made)
                           : PyErr_NoMemory();
}
