/* Trace.diff() and .joined(): comparison of two traces or two ranks. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "base/alloc.h"
#include "module/field_tables.h"
#include "profile/diff_joined.h"
#include "profile/profile_diff.h"
#include "profile/totals.h"
#include "trace/trace_merge.h"

#define SIDE(name, field) \
    FD_COLUMN(fd_diff_row, name "_before", DOUBLE, side[0].field), \
        FD_COLUMN(fd_diff_row, name "_after", DOUBLE, side[1].field)

static const fd_column row_columns[] = {
    FD_COLUMN(fd_diff_row, "key", TEXT, key),
    FD_COLUMN_OF_NAMES(fd_diff_row, "kind", U8, kind, fd_kind_names),
    FD_COLUMN(fd_diff_row, "changes", U8, changes),
    SIDE("calls", calls),
    SIDE("self", self),
    SIDE("total", total),
    SIDE("work", work),
    SIDE("backward", backward),
    SIDE("async", async),
    SIDE("gpu", gpu),
    SIDE("spread", spread),
};
static const fd_table rows_table =
    FD_TABLE("rows", row_columns, fd_diff_row, false);

static const fd_column call_columns[] = {
    FD_COLUMN(fd_diff_call, "caller", INDEX, caller),
    FD_COLUMN(fd_diff_call, "callee", INDEX, callee),
    FD_COLUMN(fd_diff_call, "changes", U8, changes),
    FD_COLUMN(fd_diff_call, "calls_before", DOUBLE, calls[0]),
    FD_COLUMN(fd_diff_call, "calls_after", DOUBLE, calls[1]),
};
static const fd_table calls_table =
    FD_TABLE("calls", call_columns, fd_diff_call, false);

static PyObject *
diff_object(const fd_diff *diff)
{
    PyObject *rows = fd_columns(&rows_table, diff->rows.list, diff->rows.count,
                                &diff->keys);
    PyObject *calls = fd_columns(&calls_table, diff->calls.list,
                                 diff->calls.count, &diff->keys);
    if (rows == NULL || calls == NULL) {
        Py_XDECREF(rows);
        Py_XDECREF(calls);
        return NULL;
    }
    return Py_BuildValue("{s:N,s:N,s:(KK),s:(dd),s:d}", "rows", rows, "calls",
                         calls, "steps", (unsigned long long)diff->steps[0],
                         (unsigned long long)diff->steps[1], "whole",
                         diff->whole[0], diff->whole[1], "speed", diff->speed);
}

/* Use the bytes, one per node of each side; the caller holds them. */
static bool
take_waits(fd_diff_request *request, PyObject *pair)
{
    PyObject *waits[2];
    if (pair == Py_None) {
        return true;
    }
    if (!PyArg_Parse(pair, "(SS)", &waits[0], &waits[1])) {
        return false;
    }
    for (int side = 0; side < 2; side++) {
        const fd_trace *trace = request->sides[side].trace;
        if (PyBytes_GET_SIZE(waits[side])
            != (Py_ssize_t)trace->nodes.count - 1) {
            PyErr_SetString(fd_value_error(), "diff: waits: a byte per node");
            return false;
        }
        request->waits[side] = (const uint8_t *)PyBytes_AS_STRING(waits[side]);
    }
    return true;
}

PyObject *
fd_trace_diff(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"",          "rank",       "after_rank", "by",
                            "threshold", "same_speed", "busy",       "idle",
                            "waits",     NULL};
    PyObject *after;
    const char *by = "node";
    PyObject *waits = Py_None;
    int same_speed = 0;
    fd_diff_request request = {
        .sides = {{.rank = FD_ALL_RANKS}, {.rank = FD_ALL_RANKS}},
        .threshold = 0.1};
    fd_diff diff;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!|$iisdp(dd)(dd)O:diff", names, Py_TYPE(self),
            &after, &request.sides[0].rank, &request.sides[1].rank, &by,
            &request.threshold, &same_speed, &request.busy[0],
            &request.busy[1], &request.idle[0], &request.idle[1], &waits)
        || !fd_trace_rank_fits(self, request.sides[0].rank)
        || !fd_trace_rank_fits(after, request.sides[1].rank)
        || !fd_take_grouping(by, &request.grouping)) {
        return NULL;
    }
    request.same_speed = same_speed != 0;
    request.sides[0].trace = fd_trace_of(self);
    request.sides[1].trace = fd_trace_of(after);
    if (!take_waits(&request, waits)) {
        return NULL;
    }
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_diff_make(&diff, &request);
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? diff_object(&diff) : PyErr_NoMemory();
    fd_diff_clear(&diff);
    return made;
}

PyObject *
fd_trace_renamed(PyObject *self, PyObject *args)
{
    const char *file;
    const char *to;
    if (!PyArg_ParseTuple(args, "ss:renamed", &file, &to)) {
        return NULL;
    }
    fd_trace *made;
    const fd_trace *trace = fd_trace_of(self);
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_merge_renamed(&made, trace, file, to);
    Py_END_ALLOW_THREADS
    return status == FD_OK ? fd_trace_object(fd_module_of(self), made)
                           : PyErr_NoMemory();
}

/* Convert the pair of ranks to compare; by default, all ranks of both
 * traces. */
static bool
take_pair(PyObject *before, PyObject *after, PyObject *pair,
          fd_diff_side sides[2])
{
    sides[0].trace = fd_trace_of(before);
    sides[1].trace = fd_trace_of(after);
    return PyArg_Parse(pair, "(ii)", &sides[0].rank, &sides[1].rank)
        && fd_trace_rank_fits(before, sides[0].rank)
        && fd_trace_rank_fits(after, sides[1].rank);
}

PyObject *
fd_trace_joined(PyObject *self, PyObject *args)
{
    PyObject *after;
    PyObject *pairs;
    if (!PyArg_ParseTuple(args, "O!O!:joined", Py_TYPE(self), &after,
                          &PyList_Type, &pairs)) {
        return NULL;
    }
    uint32_t count = (uint32_t)PyList_GET_SIZE(pairs);
    if (count == 0) {
        PyErr_SetString(fd_value_error(), "joined: no ranks");
        return NULL;
    }
    fd_diff_side *sides = fd_calloc(2 * (size_t)count, sizeof *sides);
    if (sides == NULL) {
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!take_pair(self, after, PyList_GET_ITEM(pairs, i),
                       &sides[2 * (size_t)i])) {
            fd_free(sides);
            return NULL;
        }
    }
    fd_trace *joined;
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_diff_joined(&joined, sides, 2 * count);
    Py_END_ALLOW_THREADS
    fd_free(sides);
    return status == FD_OK ? fd_trace_object(fd_module_of(self), joined)
                           : PyErr_NoMemory();
}
