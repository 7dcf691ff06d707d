/* Trace.ranks and .figures: what one rank recorded. */
#include "module/trace/trace_type.h"

#include "module/trace/column_dicts.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

static PyObject *
counters_of(const fd_trace_rank *rank)
{
    PyObject *counters = PyDict_New();
    for (int i = 0; counters != NULL && i < FD_COUNT_USED; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(rank->counters[i]);
        counters = fd_columns_with(counters, fd_counter_names[i], value);
    }
    return counters;
}

/* {key: JSON text} */
static PyObject *
meta_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *meta = PyDict_New();
    for (uint32_t i = 0; meta != NULL && i < rank->meta.count; i++) {
        const char *key = fd_trace_text(trace, rank->meta.list[i].key);
        PyObject *json =
            fd_text_object(&trace->texts, rank->meta.list[i].json);
        meta = fd_columns_with(meta, key, json);
    }
    return meta;
}

static PyObject *
notes_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *notes = PyList_New(rank->notes.count);
    for (uint32_t i = 0; notes != NULL && i < rank->notes.count; i++) {
        PyObject *text = fd_text_object(&trace->texts, rank->notes.list[i]);
        if (text == NULL) {
            Py_CLEAR(notes);
            break;
        }
        PyList_SET_ITEM(notes, i, text);
    }
    return notes;
}

/* With what is in no dump beside it. */
static PyObject *
threads_of(const fd_trace_rank *rank, const fd_text_pool *texts)
{
    static const fd_column last[] = {
        {"last", FD_COLUMN_U64, offsetof(fd_trace_thread, last), NULL}};
    static const fd_table latest = {"threads", last, 1,
                                    sizeof(fd_trace_thread), false};
    PyObject *threads = fd_columns(&fd_threads_table, rank->threads.list,
                                   rank->threads.count, texts);
    return fd_columns_join(threads, fd_columns(&latest, rank->threads.list,
                                               rank->threads.count, texts));
}

static PyObject *
rank_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *made = Py_BuildValue(
        "{s:I,s:I,s:I,s:s,s:s,s:s,s:O,s:O,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:I,"
        "s:K}",
        "rank", rank->rank, "world", rank->world, "pid", rank->pid, "id",
        rank->id, "boot_id", rank->boot_id, "state",
        fd_state_names[rank->state], "timing",
        rank->timing != 0 ? Py_True : Py_False, "complete",
        rank->incomplete ? Py_False : Py_True, "steps_source",
        fd_steps_source_names[rank->steps_source], "steps",
        (unsigned long long)rank->steps, "recorded",
        (unsigned long long)rank->recorded, "file_bytes",
        (unsigned long long)rank->file_bytes, "start_realtime",
        (unsigned long long)rank->start.realtime_ns, "start_monotonic",
        (unsigned long long)rank->start.monotonic_ns, "start_ticks",
        (unsigned long long)rank->start.ticks, "flows", rank->flows.count,
        "flows_lost", (unsigned long long)rank->flows_lost);
    const fd_text_pool *texts = &trace->texts;
    made = fd_columns_with(made, "counters", counters_of(rank));
    made = fd_columns_with(made, "meta", meta_of(trace, rank));
    made = fd_columns_with(made, "notes", notes_of(trace, rank));
    made = fd_columns_with(made, "threads", threads_of(rank, texts));
    made = fd_columns_with(
        made, "open",
        fd_columns(&fd_open_table, rank->open.list, rank->open.count, texts));
    made = fd_columns_with(made, "latest_steps",
                           fd_columns(&fd_steps_table, rank->latest.list,
                                      rank->latest.count, texts));
    made = fd_columns_with(
        made, "gpu",
        fd_columns(&fd_gpu_table, rank->gpu.list, rank->gpu.count, texts));
    return fd_columns_with(
        made, "step_tops",
        fd_columns(&fd_tops_table, rank->tops.list, rank->tops.count, texts));
}

PyObject *
fd_trace_ranks(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = fd_trace_of(self);
    PyObject *list = PyList_New(trace->ranks.count);
    for (uint32_t i = 0; list != NULL && i < trace->ranks.count; i++) {
        PyObject *rank = rank_of(trace, &trace->ranks.list[i]);
        if (rank == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, rank);
    }
    return list;
}

/* The rank that the arguments name; NULL with an exception. */
static const fd_trace_rank *
rank_in(PyObject *self, PyObject *args, const char *format)
{
    int rank;
    if (!PyArg_ParseTuple(args, format, &rank)
        || !fd_trace_rank_fits(self, rank)) {
        return NULL;
    }
    if (rank == FD_ALL_RANKS) {
        PyErr_SetString(PyExc_ValueError, "this table is per rank");
        return NULL;
    }
    return &fd_trace_of(self)->ranks.list[rank];
}

PyObject *
fd_trace_figures(PyObject *self, PyObject *args)
{
    const fd_trace_rank *rank = rank_in(self, args, "i:figures");
    return rank == NULL
             ? NULL
             : fd_columns(&fd_figures_table, rank->figures.list,
                          rank->figures.count, &fd_trace_of(self)->texts);
}

PyObject *
fd_trace_jobs(PyObject *self, PyObject *args)
{
    const fd_trace_rank *rank = rank_in(self, args, "i:jobs");
    return rank == NULL
             ? NULL
             : fd_columns(&fd_jobs_table, rank->jobs.list, rank->jobs.count,
                          &fd_trace_of(self)->texts);
}
