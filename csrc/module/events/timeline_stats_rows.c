#include "module/events/timeline_stats_rows.h"

#include "module/field_tables.h"

PyObject *
fd_rows_figures(const fd_digest *d)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "count",
                         (unsigned long long)d->count, "total",
                         (unsigned long long)d->total, "min",
                         (unsigned long long)d->least, "p50",
                         (unsigned long long)fd_digest_at(d, 0.5), "p95",
                         (unsigned long long)fd_digest_at(d, 0.95), "p99",
                         (unsigned long long)fd_digest_at(d, 0.99), "max",
                         (unsigned long long)d->most);
}

static_assert(FD_NO_STREAM == FD_NO_STEP, "the number that stands for none");

PyObject *
fd_rows_number(int64_t number)
{
    return number == FD_NO_STEP ? Py_NewRef(Py_None)
                                : PyLong_FromLongLong(number);
}

static PyObject *
kernel_row(const fd_kernel_kinds *row)
{
    PyObject *kinds = PyList_New(0);
    PyObject *times = PyList_New(0);
    for (uint32_t i = 0; i < FD_KERNEL_KINDS; i++) {
        kinds = fd_list_with(
            kinds,
            Py_BuildValue("{s:s,s:K,s:K}", "kind", fd_kernel_kind_name(i),
                          "count", (unsigned long long)row->count[i], "total",
                          (unsigned long long)row->total[i]));
    }
    for (uint32_t set = 0; set < FD_KERNEL_SETS; set++) {
        times = fd_list_with(times, PyLong_FromLongLong(row->time[set]));
    }
    return Py_BuildValue("{s:I,s:L,s:L,s:N,s:N}", "rank", row->rank, "start",
                         (long long)row->first, "end", (long long)row->last,
                         "kinds", kinds, "times", times);
}

PyObject *
fd_rows_kernels(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->kernels.count; i++) {
        list = fd_list_with(list, kernel_row(&stats->kernels.list[i]));
    }
    return list;
}

PyObject *
fd_rows_streams(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->streams.rows.count; i++) {
        const fd_stream_row *row = &stats->streams.rows.list[i];
        list = fd_list_with(
            list,
            Py_BuildValue(
                "{s:I,s:N,s:N,s:K,s:K,s:L,s:L,s:L,s:L,s:L,s:L}", "rank",
                row->rank, "device", fd_rows_number(row->device), "stream",
                fd_rows_number(row->stream), "count",
                (unsigned long long)row->count, "launched",
                (unsigned long long)row->launched, "start",
                (long long)row->first, "end", (long long)row->last, "busy",
                (long long)row->busy, "host_wait", (long long)row->host_wait,
                "kernel_wait", (long long)row->kernel_wait, "other_wait",
                (long long)row->other));
    }
    return list;
}

PyObject *
fd_rows_launches(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->streams.delays.count;
         i++) {
        const fd_gpu_delays *row = &stats->streams.delays.list[i];
        list = fd_list_with(
            list, Py_BuildValue("{s:I,s:N,s:N,s:K,s:L,s:K}", "rank", row->rank,
                                "delay", fd_rows_figures(&row->delay), "call",
                                fd_rows_figures(&row->call), "early",
                                (unsigned long long)row->early, "skew",
                                (long long)row->skew, "repeated",
                                (unsigned long long)row->repeated));
    }
    return list;
}
