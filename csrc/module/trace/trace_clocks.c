/* Trace.clock_facts: facts about the clocks of the ranks. */
#include "module/field_tables.h"
#include "module/trace/trace_type.h"

#include <string.h>

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
