/* Trace.ranks and .figures: the tables of one rank. */
#include "module/trace/trace_type.h"

#include "module/field_tables.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

static const fd_column rank_columns[] = {
    FD_COLUMN(fd_trace_rank, "rank", U32, rank),
    FD_COLUMN(fd_trace_rank, "world", U32, world),
    FD_COLUMN(fd_trace_rank, "pid", U32, pid),
    FD_COLUMN(fd_trace_rank, "id", CHARS, id),
    FD_COLUMN(fd_trace_rank, "boot_id", CHARS, boot_id),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "state", U32, state, fd_state_names),
    FD_COLUMN_OF_NAMES(fd_trace_rank, "steps_source", U32, steps_source,
                       fd_steps_source_names),
    FD_COLUMN(fd_trace_rank, "steps", U64, steps),
    FD_COLUMN(fd_trace_rank, "recorded", U64, recorded),
    FD_COLUMN(fd_trace_rank, "file_bytes", U64, file_bytes),
    FD_COLUMN(fd_trace_rank, "start_realtime", U64, start.realtime_ns),
    FD_COLUMN(fd_trace_rank, "start_monotonic", U64, start.monotonic_ns),
    FD_COLUMN(fd_trace_rank, "start_ticks", U64, start.ticks),
    FD_COLUMN(fd_trace_rank, "flows", U32, flows.count),
    FD_COLUMN(fd_trace_rank, "flows_lost", U64, flows_lost),
};
static const fd_table rank_table =
    FD_TABLE("rank", rank_columns, fd_trace_rank, false);

static const char *
counter_name(int counter)
{
    return fd_counter_names[counter];
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
    PyObject *notes = PyList_New(0);
    for (uint32_t i = 0; notes != NULL && i < rank->notes.count; i++) {
        notes = fd_list_with(
            notes, fd_text_object(&trace->texts, rank->notes.list[i]));
    }
    return notes;
}

/* The table of dumps, and a column that no dump has. */
static PyObject *
threads_of(const fd_trace_rank *rank, const fd_text_pool *texts)
{
    static const fd_column last[] = {
        FD_COLUMN(fd_trace_thread, "last", U64, last)};
    static const fd_table latest =
        FD_TABLE("threads", last, fd_trace_thread, false);
    PyObject *threads = fd_columns(&fd_threads_table, rank->threads.list,
                                   rank->threads.count, texts);
    return fd_columns_join(threads, fd_columns(&latest, rank->threads.list,
                                               rank->threads.count, texts));
}

static PyObject *
rank_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    const fd_text_pool *texts = &trace->texts;
    PyObject *made = fd_record(&rank_table, rank, texts);
    made = fd_columns_with(made, "timing", PyBool_FromLong(rank->timing != 0));
    made =
        fd_columns_with(made, "complete", PyBool_FromLong(!rank->incomplete));
    made = fd_columns_with(
        made, "counters",
        fd_named_counts(counter_name, rank->counters, FD_COUNT_USED, true));
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
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < trace->ranks.count; i++) {
        list = fd_list_with(list, rank_of(trace, &trace->ranks.list[i]));
    }
    return list;
}

/* The rank in the arguments; NULL with an exception. */
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
