/* timeline_slices(), timeline_rows(): slices as rows of structs. */
#include "module/events/timeline_binding.h"

#include "base/alloc.h"
#include "events/stats/slice_tables.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

typedef struct arguments {
    PyObject *sink; /* borrowed */
    fd_progress_call progress;
} arguments;

#define SLICE(name, type, field) FD_COLUMN(fd_slice, name, type, field)
#define PROCESS(name, type) FD_COLUMN(fd_process_facts, #name, type, name)

static const fd_column slice_columns[] = {
    SLICE("start", I64, start),
    SLICE("end", I64, end),
    SLICE("step", I64, step),
    SLICE("stage", I64, stage),
    SLICE("match", U64, group),
    SLICE("kind", U32, kind),
    SLICE("process", U32, process),
    SLICE("thread", U32, thread),
    SLICE("category", U32, cat),
    SLICE("name", U32, name),
    SLICE("type", U32, type),
    SLICE("group", U32, pg),
    SLICE("rank", U32, rank),
    SLICE("correlation", U64, gpu.correlation),
    SLICE("device", I64, gpu.device),
    SLICE("stream", I64, gpu.stream),
};
static const fd_table slice_table =
    FD_TABLE("slices", slice_columns, fd_slice, false);

static const fd_column process_columns[] = {
    PROCESS(named, BOOL),
    PROCESS(rank, U32),
    PROCESS(events, U64),
    PROCESS(calls_lost, U64),
};
static const fd_table process_table =
    FD_TABLE("processes", process_columns, fd_process_facts, false);

static const fd_column end_columns[] = {
    FD_COLUMN(fd_transfer_end, "id", U64, id),
    FD_COLUMN(fd_transfer_end, "job", U32, job),
    FD_COLUMN(fd_transfer_end, "ends", U32, ends),
};
static const fd_table ends_table =
    FD_TABLE("transfers", end_columns, fd_transfer_end, false);

/* Return the layout of the rows of a table, as numpy.dtype takes it. */
static PyObject *
row_layout(const fd_table *table)
{
    static const char *const formats[] = {[FD_COLUMN_BOOL] = "?",
                                          [FD_COLUMN_U32] = "u4",
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
    return Py_BuildValue("NNNN", row_layout(&slice_table),
                         row_layout(&process_table),
                         row_layout(&fd_event_table), row_layout(&ends_table));
}

static PyObject *
loss_rows(const fd_process_table *table)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < table->losses.count; i++) {
        const fd_reported_loss *loss = &table->losses.list[i];
        list =
            fd_list_with(list, Py_BuildValue("IK", loss->rank,
                                             (unsigned long long)loss->lost));
    }
    return list;
}

static PyObject *
pass_facts(const fd_slices_pass *pass)
{
    const fd_process_table *table = pass->processes;
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:I,s:I,s:K}", "processes",
        PyBytes_FromStringAndSize((const char *)table->list.list,
                                  (Py_ssize_t)table->list.count
                                      * (Py_ssize_t)sizeof *table->list.list),
        "losses", loss_rows(table), "file",
        PyUnicode_DecodeFSDefault(pass->path), "rank", pass->rank, "files",
        pass->files, "lost", (unsigned long long)pass->lost);
}

/* Note whether a call of the sink failed; `answer` is stolen. */
static bool
goes_on(arguments *a, PyObject *answer)
{
    a->progress.raised = answer == NULL;
    Py_XDECREF(answer);
    return answer != NULL;
}

/* Return what follows by the value that `sink.next` returned: True: another
 * pass, False: the last pass, None: nothing. */
static fd_slices_next
next_pass(void *context, const fd_slices_pass *pass)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *facts = pass_facts(pass);
    PyObject *answer = facts == NULL
                         ? NULL
                         : PyObject_CallMethod(a->sink, "next", "N", facts);
    fd_slices_next next = answer == Py_True ? FD_SLICES_AGAIN
                        : answer == Py_None ? FD_SLICES_DONE
                                            : FD_SLICES_FULL;
    next = goes_on(a, answer) ? next : FD_SLICES_STOP;
    PyGILState_Release(state);
    return next;
}

static bool
take_rows(void *context, const fd_slice *rows, uint32_t count, uint32_t file,
          bool full)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *bytes = PyBytes_FromStringAndSize(
        (const char *)rows, (Py_ssize_t)count * (Py_ssize_t)sizeof *rows);
    bool made = goes_on(
        a, bytes == NULL ? NULL
                         : PyObject_CallMethod(a->sink, full ? "take" : "look",
                                               "NI", bytes, file));
    PyGILState_Release(state);
    return made;
}

static bool
report_progress(void *context, uint64_t done, uint64_t total)
{
    arguments *a = context;
    return fd_report_progress(&a->progress, done, total);
}

static PyObject *
slices_result(const fd_timeline_input *files, uint32_t count,
              const fd_text_pool *pool)
{
    PyObject *texts = PyList_New(0);
    for (uint32_t i = 0; texts != NULL && (i == 0 || i < pool->texts.count);
         i++) {
        texts = fd_list_with(texts, fd_text_object(pool, i));
    }
    return Py_BuildValue("{s:N,s:N}", "files", fd_input_results(files, count),
                         "texts", texts);
}

static PyObject *
read_files(PyObject *module, arguments *a, fd_timeline_input *files,
           uint32_t count, uint64_t total)
{
    fd_slices_request request = {.total = total,
                                 .take = take_rows,
                                 .next = next_pass,
                                 .progress = report_progress,
                                 .context = a};
    fd_timeline_slices slices;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_slice_tables_read(&request, files, count, &slices, &error);
    Py_END_ALLOW_THREADS
    PyObject *made = a->progress.raised ? NULL
                   : status == FD_OK
                       ? slices_result(files, count, &slices.texts)
                       : fd_raise(module, status, &error);
    fd_timeline_slices_clear(&slices);
    return made;
}

PyObject *
fd_timeline_slices_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "sink", "progress", "total", NULL};
    arguments a = {.progress = {.function = Py_None}};
    PyObject *list;
    unsigned long long total = 0;
    uint32_t count;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|$OK:timeline_slices",
                                     names, &PyList_Type, &list, &a.sink,
                                     &a.progress.function, &total)) {
        return NULL;
    }
    fd_timeline_input *files = fd_take_inputs(list, &count);
    PyObject *made =
        files == NULL ? NULL : read_files(module, &a, files, count, total);
    fd_free(files);
    return made;
}
