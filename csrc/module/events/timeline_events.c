/* timeline_events(), timeline_rows(): events as rows of structs. */
#include "module/events/timeline_binding.h"

#include "events/stats/event_rows.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

typedef struct arguments {
    PyObject *take;    /* borrowed */
    PyObject *kind_of; /* borrowed */
    uint32_t texts;    /* number of texts passed so far */
    fd_progress_call progress;
} arguments;

#define EVENT(name, type) FD_COLUMN(fd_event_row, #name, type, name)
#define END(name, type) FD_COLUMN(fd_transfer_end, #name, type, name)

static const fd_column event_columns[] = {
    EVENT(byte, U64),    EVENT(event, U64),   EVENT(start, I64),
    EVENT(end, I64),     EVENT(pid, U64),     EVENT(thread, U64),
    EVENT(track, U64),   EVENT(number, U64),  EVENT(label, U64),
    EVENT(match, U64),   EVENT(step, I64),    EVENT(stage, I64),
    EVENT(device, I64),  EVENT(stream, I64),  EVENT(process, U32),
    EVENT(lane, U32),    EVENT(kind, U32),    EVENT(category, U32),
    EVENT(name, U32),    EVENT(type, U32),    EVENT(group, U32),
    EVENT(rank, U32),    EVENT(flags, U32),   EVENT(phase, U32),
    EVENT(repairs, U32), EVENT(slashes, U32),
};
static const fd_table event_table =
    FD_TABLE("events", event_columns, fd_event_row, false);

static const fd_column end_columns[] = {END(id, U64), END(job, U32),
                                        END(ends, U32)};
static const fd_table ends_table =
    FD_TABLE("transfers", end_columns, fd_transfer_end, false);

/* Return the layout of the rows of a table, as numpy.dtype takes it. */
static PyObject *
row_layout(const fd_table *table)
{
    static const char *const formats[] = {[FD_COLUMN_U32] = "u4",
                                          [FD_COLUMN_U64] = "u8",
                                          [FD_COLUMN_I64] = "i8"};
    PyObject *names = PyList_New(0);
    PyObject *types = PyList_New(0);
    PyObject *offsets = PyList_New(0);
    for (size_t i = 0; i < table->count; i++) {
        const fd_column *column = &table->columns[i];
        names = fd_list_with(names, PyUnicode_FromString(column->name));
        types =
            fd_list_with(types, PyUnicode_FromString(formats[column->type]));
        offsets = fd_list_with(offsets, PyLong_FromSize_t(column->offset));
    }
    return Py_BuildValue("{s:N,s:N,s:N,s:n}", "names", names, "formats", types,
                         "offsets", offsets, "itemsize",
                         (Py_ssize_t)table->row_bytes);
}

PyObject *
fd_timeline_rows_py(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("NN", row_layout(&event_table),
                         row_layout(&ends_table));
}

PyObject *
fd_give_rows(PyObject *take, const fd_event_row *rows, uint32_t count,
             const fd_text_pool *texts, uint32_t *passed)
{
    PyObject *list = PyList_New(0);
    while (*passed + 1 < texts->texts.count) {
        list = fd_list_with(list, fd_text_object(texts, ++*passed));
    }
    PyObject *bytes = PyByteArray_FromStringAndSize(
        (const char *)rows, (Py_ssize_t)count * (Py_ssize_t)sizeof *rows);
    return PyObject_CallFunction(take, "NN", bytes, list);
}

static bool
take_rows(void *context, const fd_event_row *rows, uint32_t count,
          const fd_text_pool *texts)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = fd_give_rows(a->take, rows, count, texts, &a->texts);
    a->progress.raised = answer == NULL;
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return !a->progress.raised;
}

static bool
kind_of_slice(void *context, fd_span subject, fd_slice_kind *kind)
{
    arguments *a = context;
    long long step;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(
        a->kind_of, "N",
        PyUnicode_DecodeUTF8(subject.from, (Py_ssize_t)fd_span_size(subject),
                             "replace"));
    a->progress.raised = answer == NULL
                      || !PyArg_Parse(answer, "(IILI)", &kind->kind,
                                      &kind->flags, &step, &kind->end);
    kind->step = a->progress.raised ? FD_NO_STEP : step;
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return !a->progress.raised;
}

static bool
report_progress(void *context, uint64_t done, uint64_t total)
{
    return fd_report_progress(&((arguments *)context)->progress, done, total);
}

static PyObject *
facts_result(const fd_event_facts *facts)
{
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:s}", "events", (unsigned long long)facts->events,
        "lost", (unsigned long long)facts->lost, "lost_bytes",
        (unsigned long long)facts->lost_bytes, "trouble", facts->trouble);
}

PyObject *
fd_timeline_events_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path",     "take",      "kind_of",
                            "progress", "transfers", NULL};
    PyObject *path = NULL;
    PyObject *transfers = Py_None;
    arguments a = {.progress = {.function = Py_None}};
    fd_event_rows_request request = {.take = take_rows,
                                     .kind_of = kind_of_slice,
                                     .progress = report_progress,
                                     .context = &a};
    fd_event_facts facts;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&OO|$OO:timeline_events",
                                     names, PyUnicode_FSConverter, &path,
                                     &a.take, &a.kind_of, &a.progress.function,
                                     &transfers)) {
        return NULL;
    }
    request.transfers =
        fd_take_transfers(PyBytes_Check(transfers) ? transfers : NULL);
    Py_BEGIN_ALLOW_THREADS
        status = fd_event_rows_read(PyBytes_AS_STRING(path), &request, &facts,
                                    &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return a.progress.raised ? NULL
         : status == FD_OK   ? facts_result(&facts)
                             : fd_raise(module, status, &error);
}
