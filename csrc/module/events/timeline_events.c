/* timeline_events(): events as rows of structs. */
#include "module/events/timeline_binding.h"

#include "events/stats/event_rows.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

typedef struct arguments {
    PyObject *take; /* borrowed */
    fd_progress_call progress;
} arguments;

#define EVENT(name, type) FD_COLUMN(fd_event_row, #name, type, name)

static const fd_column event_columns[] = {
    EVENT(byte, U64),    EVENT(event, U64),  EVENT(start, I64),
    EVENT(end, I64),     EVENT(pid, U64),    EVENT(thread, U64),
    EVENT(track, U64),   EVENT(number, U64), EVENT(name, U64),
    EVENT(flags, U32),   EVENT(phase, U32),  EVENT(repairs, U32),
    EVENT(slashes, U32),
};
const fd_table fd_event_table =
    FD_TABLE("events", event_columns, fd_event_row, false);

static bool
take_rows(void *context, const fd_event_row *rows, uint32_t count)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *bytes = PyBytes_FromStringAndSize(
        (const char *)rows, (Py_ssize_t)count * (Py_ssize_t)sizeof *rows);
    PyObject *answer =
        bytes == NULL ? NULL : PyObject_CallFunction(a->take, "N", bytes);
    a->progress.raised = answer == NULL;
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
    static char *names[] = {"path", "take", "progress", "transfers", NULL};
    PyObject *path = NULL;
    PyObject *transfers = Py_None;
    arguments a = {.progress = {.function = Py_None}};
    fd_event_rows_request request = {
        .take = take_rows, .progress = report_progress, .context = &a};
    fd_event_facts facts;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O|$OO:timeline_events",
                                     names, PyUnicode_FSConverter, &path,
                                     &a.take, &a.progress.function,
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
