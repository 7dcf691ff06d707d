/* Trace.timeline_rows and .clock_facts: the timeline for drawings. */
#include "module/errors.h"

#include "module/field_tables.h"
#include "module/trace/trace_type.h"
#include "profile/timeline_rows.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

#include <string.h>

static const fd_column call_columns[] = {
    FD_COLUMN(fd_timeline_call, "thread", U32, thread),
    FD_COLUMN(fd_timeline_call, "depth", U32, depth),
    FD_COLUMN(fd_timeline_call, "context", INDEX, context),
    FD_COLUMN(fd_timeline_call, "job", INDEX, job),
    FD_COLUMN(fd_timeline_call, "start", U64, start),
    FD_COLUMN(fd_timeline_call, "duration", U64, duration),
    FD_COLUMN(fd_timeline_call, "open", BOOL, open),
    FD_COLUMN(fd_timeline_call, "async", BOOL, async),
};
static const fd_table calls_table =
    FD_TABLE("calls", call_columns, fd_timeline_call, false);

static const fd_column flow_columns[] = {
    FD_COLUMN(fd_timeline_flow, "from", U32, from),
    FD_COLUMN(fd_timeline_flow, "to", U32, to),
};
static const fd_table flows_table =
    FD_TABLE("flows", flow_columns, fd_timeline_flow, false);

static PyObject *
rows_object(const fd_trace *trace, const fd_timeline_rows *rows)
{
    PyObject *made = Py_BuildValue(
        "{s:K,s:K}", "left_out", (unsigned long long)rows->left_out,
        "flows_left_out", (unsigned long long)rows->flows_left_out);
    made = fd_columns_with(made, "calls",
                           fd_columns(&calls_table, rows->list.list,
                                      rows->list.count, &trace->texts));
    return fd_columns_with(made, "flows",
                           fd_columns(&flows_table, rows->flows.list,
                                      rows->flows.count, &trace->texts));
}

PyObject *
fd_trace_timeline_rows(PyObject *self, PyObject *args)
{
    int rank;
    unsigned int most;
    if (!PyArg_ParseTuple(args, "iI:timeline_rows", &rank, &most)
        || !fd_trace_rank_fits(self, rank)) {
        return NULL;
    }
    if (rank == FD_ALL_RANKS) {
        PyErr_SetString(fd_value_error(), "this table is per rank");
        return NULL;
    }
    const fd_trace *trace = fd_trace_of(self);
    const fd_trace_rank *selected = &trace->ranks.list[rank];
    fd_timeline_rows rows;
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_rows_make(&rows, selected, most);
    Py_END_ALLOW_THREADS
    PyObject *made =
        status == FD_OK ? rows_object(trace, &rows) : PyErr_NoMemory();
    fd_arena_clear(&rows.arena);
    return made;
}

static PyObject *
clock_facts(const fd_trace *trace, const fd_trace_rank *rank)
{
    static const char none[33] = "00000000000000000000000000000000";
    const char *clock = fd_rank_fact(trace, rank, "clock");
    return Py_BuildValue(
        "{s:I,s:L,s:i,s:y,s:L,s:y,s:y}", "rank", (unsigned)rank->rank, "base",
        (long long)rank->start.realtime_ns, "first", 0, "boot",
        strcmp(rank->boot_id, none) != 0 ? rank->boot_id : NULL, "boottime",
        (long long)rank->start.boottime_ns, "host", "", "clock",
        clock != NULL ? clock : "");
}

PyObject *
fd_trace_clock_facts(PyObject *self, PyObject *unused)
{
    const fd_trace *trace = fd_trace_of(self);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        list = fd_list_with(list, clock_facts(trace, &trace->ranks.list[i]));
    }
    (void)unused;
    return list;
}
