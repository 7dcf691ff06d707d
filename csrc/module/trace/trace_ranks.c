/* Trace.ranks, .settled and .shared. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "module/field_tables.h"
#include "profile/totals.h"
#include "trace/canonical_order.h"
#include "trace/step_window.h"
#include "trace/trace_columns.h"
#include "trace/trace_merge.h"

static const fd_column more_columns[] = {
    FD_COLUMN(fd_trace_rank, "start_realtime", U64, start.realtime_ns),
    FD_COLUMN(fd_trace_rank, "start_monotonic", U64, start.monotonic_ns),
    FD_COLUMN(fd_trace_rank, "flows", U32, flows.count),
    FD_COLUMN(fd_trace_rank, "flows_lost", U64, flows_lost),
};
static const fd_table more_fields =
    FD_TABLE("rank", more_columns, fd_trace_rank, false);

static PyObject *
counters_of(const fd_trace_rank *rank)
{
    PyObject *made = PyDict_New();
    for (int i = 0; made != NULL && i < FD_COUNT_USED; i++) {
        made = fd_columns_with(made, fd_counter_names[i],
                               PyLong_FromUnsignedLongLong(rank->counters[i]));
    }
    return made;
}

/* Return {key: JSON text}. */
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

/* Return a window as step numbers, or None if there is no window. */
static PyObject *
window_of(const fd_trace_rank *rank, uint32_t from, uint32_t to)
{
    if (to == 0) {
        Py_RETURN_NONE;
    }
    static const fd_trace_mark start = {.number = 0};
    const fd_trace_mark *marks = rank->marks.list;
    const fd_trace_mark *before = from > 0 ? &marks[from - 1] : &start;
    const fd_trace_mark *last = &marks[to - 1];
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:I,s:I}", "first",
        (unsigned long long)(from > 0 ? before->number + 1 : marks[0].number),
        "last", (unsigned long long)last->number, "steps",
        (unsigned long long)(last->steps - before->steps), "skipped",
        (unsigned long long)before->steps, "from", (unsigned int)from, "to",
        (unsigned int)to);
}

/* Return the settled steps, regardless of the steps that the figures cover. */
static PyObject *
settled_of(const fd_trace_rank *rank)
{
    static const char *const verdicts[] = {"settled",  "varying", "few",
                                           "unmarked", "untimed", "unclear"};
    fd_settled found = fd_settle(rank);
    PyObject *made =
        Py_BuildValue("{s:s,s:d}", "verdict", verdicts[found.verdict],
                      "slower", found.slower);
    return fd_columns_with(made, "steps",
                           window_of(rank, found.from, found.to));
}

static PyObject *
with_steps(PyObject *made, const fd_trace_rank *rank)
{
    const fd_step_window *window = &rank->window;
    uint64_t whole = window->applied ? rank->whole : rank->recorded;
    made = fd_columns_with(made, "whole", PyLong_FromUnsignedLongLong(whole));
    made = fd_columns_with(made, "settled", settled_of(rank));
    return fd_columns_with(
        made, "window",
        window_of(rank, window->from, window->applied ? window->to : 0));
}

static PyObject *
rank_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *made = fd_record(&fd_rank_fields, rank);
    made = fd_columns_join(made, fd_record(&fd_sparse_fields, rank));
    made = fd_columns_join(made, fd_record(&more_fields, rank));
    made =
        fd_columns_with(made, "complete", PyBool_FromLong(!rank->incomplete));
    made = fd_columns_with(made, "counters", counters_of(rank));
    made = fd_columns_with(made, "meta", meta_of(trace, rank));
    made = fd_columns_with(made, "notes", notes_of(trace, rank));
    return with_steps(made, rank);
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

/* Return a new trace, made without the GIL. FD_ENOMEM is the only failure. */
static PyObject *
derived_trace(PyObject *self, fd_status (*make)(fd_trace **, const fd_trace *))
{
    fd_trace *made;
    const fd_trace *trace = fd_trace_of(self);
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = make(&made, trace);
    Py_END_ALLOW_THREADS
    return status == FD_OK ? fd_trace_object(fd_module_of(self), made)
                           : PyErr_NoMemory();
}

PyObject *
fd_trace_settled(PyObject *self, PyObject *unused)
{
    (void)unused;
    return derived_trace(self, fd_window_settled);
}

/* Make a sorted copy without ranks. */
static fd_status
copy_shared(fd_trace **to, const fd_trace *from)
{
    fd_merge_ids ids = {.texts = NULL};
    *to = fd_trace_new();
    fd_status status =
        *to != NULL ? fd_merge_shared(*to, from, &ids) : FD_ENOMEM;
    fd_arena_clear(&ids.arena);
    fd_then(status, fd_trace_sort(*to));
    if (status != FD_OK) {
        fd_trace_free(*to);
    }
    return status;
}

PyObject *
fd_trace_shared(PyObject *self, PyObject *unused)
{
    (void)unused;
    return derived_trace(self, copy_shared);
}
