/* timeline_slices(), timeline_rows(): slices as rows of structs. */
#include "module/events/timeline_binding.h"

#include "base/alloc.h"
#include "events/event_inputs.h"
#include "events/stats/slice_tables.h"
#include "module/errors.h"
#include "module/events/clock_binding.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

/* Converted arguments, owned while the files are read. */
typedef struct arguments {
    PyObject *paths;          /* owned; list of bytes */
    fd_timeline_input *files; /* owned */
    uint32_t count;
    PyObject *sink; /* borrowed */
    int moments;
    int starts;
    uint32_t *ranks; /* owned; NULL: all */
    size_t rank_count;
    fd_progress_call progress;
} arguments;

#define SLICE(name, type, field) FD_COLUMN(fd_slice, name, type, field)
#define STEP(name, type) FD_COLUMN(fd_timeline_step, #name, type, name)

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

static const fd_column step_columns[] = {
    STEP(number, I64),
    STEP(start, I64),
    STEP(end, I64),
    STEP(open, BOOL),
};
static const fd_table step_table =
    FD_TABLE("steps", step_columns, fd_timeline_step, false);

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
    return Py_BuildValue("NNN", row_layout(&slice_table),
                         row_layout(&step_table), row_layout(&fd_event_table));
}

static PyObject *
step_rows(const fd_timeline_step_list *steps)
{
    return PyBytes_FromStringAndSize((const char *)steps->list,
                                     (Py_ssize_t)steps->count
                                         * (Py_ssize_t)sizeof *steps->list);
}

static PyObject *
rank_row(const fd_timeline_rank *rank, uint64_t lost)
{
    return Py_BuildValue(
        "{s:I,s:I,s:K,s:K,s:K,s:L,s:L,s:L,s:I,s:I,s:N,s:O,s:N,s:N}", "rank",
        rank->rank, "kinds", rank->kinds, "events",
        (unsigned long long)rank->events, "calls_lost",
        (unsigned long long)rank->calls_lost, "places_lost",
        (unsigned long long)(rank->places_lost + lost), "start",
        (long long)rank->first, "end", (long long)rank->last, "jobs_of",
        (long long)rank->jobs_of - 1, "stepping", rank->stepping, "open_steps",
        rank->open_steps, "steps_of",
        PyUnicode_DecodeUTF8(rank->steps_of_name,
                             (Py_ssize_t)strlen(rank->steps_of_name),
                             "replace"),
        "steps_end_there", rank->steps_end_there ? Py_True : Py_False, "steps",
        step_rows(&rank->steps), "gpu_steps", step_rows(&rank->gpu_steps));
}

/* Note whether a call of the sink failed; `answer` is stolen. */
static bool
goes_on(arguments *a, PyObject *answer)
{
    a->progress.raised = answer == NULL;
    Py_XDECREF(answer);
    return answer != NULL;
}

static bool
align_inputs(void *context, fd_timeline_input *const *inputs, uint32_t count,
             fd_timeline_clock *clock)
{
    arguments *a = context;
    return fd_align_by(&a->progress, inputs, count, clock);
}

static bool
begin_files(void *context, const fd_timeline_outline *outline,
            const char *file, uint64_t lost)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < outline->ranks.count; i++) {
        const fd_timeline_rank *rank = &outline->ranks.list[i];
        bool wanted = fd_timeline_wants(a->ranks, a->rank_count, rank->rank);
        rows = fd_list_with(rows, wanted ? rank_row(rank, lost)
                                         : Py_NewRef(Py_None));
    }
    PyObject *path = rows != NULL ? PyUnicode_DecodeFSDefault(file) : NULL;
    bool made =
        goes_on(a, path == NULL ? NULL
                                : PyObject_CallMethod(a->sink, "begin", "OO",
                                                      rows, path));
    Py_XDECREF(rows);
    Py_XDECREF(path);
    PyGILState_Release(state);
    return made;
}

static bool
take_rows(void *context, const fd_slice *rows, uint32_t count)
{
    arguments *a = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *bytes = PyBytes_FromStringAndSize(
        (const char *)rows, (Py_ssize_t)count * (Py_ssize_t)sizeof *rows);
    bool made = goes_on(
        a, bytes == NULL ? NULL
                         : PyObject_CallMethod(a->sink, "take", "N", bytes));
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
file_row(const fd_timeline_input *file, const fd_text_pool *texts)
{
    return Py_BuildValue(
        "{s:N,s:O,s:I,s:I,s:s,s:L,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:K,s:N,"
        "s:L,s:z}",
        "file", PyUnicode_DecodeFSDefault(file->path), "used",
        file->used ? Py_True : Py_False, "rank", file->rank, "world",
        file->survey.world, "align", file->clock.method, "offset_ns",
        (long long)file->clock.map.offset_ns, "uncertainty_ns",
        file->used && file->clock.uncertainty_ns != FD_CLOCK_UNKNOWN
            ? PyLong_FromLongLong(file->clock.uncertainty_ns)
            : Py_NewRef(Py_None),
        "events", (unsigned long long)file->events, "lost",
        (unsigned long long)file->lost, "lost_bytes",
        (unsigned long long)file->lost_bytes, "repaired",
        (unsigned long long)file->repaired, "unpaired",
        (unsigned long long)file->unpaired, "timeless",
        (unsigned long long)file->timeless, "trouble", file->trouble, "strays",
        (unsigned long long)file->strays, "stray",
        file->strays > 0 ? fd_text_object(texts, file->stray_name)
                         : Py_NewRef(Py_None),
        "stray_ns", (long long)file->stray_ns, "unread", file->survey.unread);
}

static PyObject *
tables_result(const arguments *a, const fd_slice_tables *tables)
{
    const fd_text_pool *pool = &tables->slices.texts;
    PyObject *files = PyList_New(0);
    PyObject *texts = PyList_New(0);
    for (uint32_t i = 0; files != NULL && i < a->count; i++) {
        files = fd_list_with(files, file_row(&a->files[i], pool));
    }
    for (uint32_t i = 0; texts != NULL && (i == 0 || i < pool->texts.count);
         i++) {
        texts = fd_list_with(texts, fd_text_object(pool, i));
    }
    return Py_BuildValue("{s:N,s:N,s:N,s:K}", "base_ns",
                         tables->has_base
                             ? PyLong_FromLongLong(tables->base_ns)
                             : Py_NewRef(Py_None),
                         "files", files, "texts", texts, "steps_left_out",
                         (unsigned long long)tables->steps_lost);
}

static PyObject *
read_inputs(PyObject *module, arguments *a)
{
    fd_slices_request request = {.align = align_inputs,
                                 .moments = a->moments != 0,
                                 .starts = a->starts != 0,
                                 .ranks = a->ranks,
                                 .rank_count = a->rank_count,
                                 .begin = begin_files,
                                 .take = take_rows,
                                 .progress = report_progress,
                                 .context = a};
    fd_slice_tables tables;
    fd_error error = {""};
    fd_status status;
    PyObject *made = NULL;
    Py_BEGIN_ALLOW_THREADS
        status = fd_slice_tables_read(&request, a->files, a->count, &tables,
                                      &error);
    Py_END_ALLOW_THREADS
    if (!a->progress.raised) {
        made = status == FD_OK ? tables_result(a, &tables)
                               : fd_raise(module, status, &error);
    }
    fd_slice_tables_clear(&tables);
    return made;
}

PyObject *
fd_timeline_slices_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs",   "sink",    "align",  "ranks",
                            "progress", "moments", "starts", NULL};
    arguments a = {.paths = NULL};
    PyObject *inputs;
    PyObject *ranks = Py_None;
    PyObject *progress = Py_None;
    PyObject *align = Py_None;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O|$OOOpp:timeline_slices", names, &PyList_Type,
            &inputs, &a.sink, &align, &ranks, &progress, &a.moments, &a.starts)
        && fd_take_inputs(inputs, &a.paths, &a.files, &a.count)
        && fd_take_ranks(ranks, "ranks", &a.ranks, &a.rank_count)) {
        a.progress.function = progress;
        a.progress.align = align == Py_None ? NULL : align;
        made = read_inputs(module, &a);
    }
    Py_XDECREF(a.paths);
    fd_free(a.files);
    fd_free(a.ranks);
    return made;
}
