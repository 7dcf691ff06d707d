/* fastdispatch._core.Trace: recordings in memory, as columns. Its methods are
 * in the other files of this folder. */
#include "module/trace/trace_type.h"

#include "module/errors.h"
#include "profile/totals.h"
#include "trace/dump_writer.h"
#include "trace/trace_source.h"

typedef struct trace_object {
    PyObject_HEAD fd_trace *trace; /* owned */
} trace_object;

fd_trace *
fd_trace_of(PyObject *self)
{
    return ((trace_object *)self)->trace;
}

bool
fd_trace_rank_fits(PyObject *self, int rank)
{
    const fd_trace *trace = fd_trace_of(self);
    if (rank >= FD_ALL_RANKS && rank < (int)trace->ranks.count) {
        return true;
    }
    PyErr_Format(fd_index_error(), "rank index %d: the trace has %u ranks",
                 rank, (unsigned)trace->ranks.count);
    return false;
}

/* Return memory that is valid as long as the list, or NULL with an
 * exception. */
static void *
kept_memory(PyObject *kept, Py_ssize_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL || PyList_Append(kept, bytes) < 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    Py_DECREF(bytes);
    return PyBytes_AS_STRING(bytes);
}

/* Encode a path or a line like a path. */
static const char *
kept_path(PyObject *kept, PyObject *path)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)
        || PyList_Append(kept, bytes) < 0) {
        Py_XDECREF(bytes);
        return NULL;
    }
    Py_DECREF(bytes);
    return PyBytes_AS_STRING(bytes);
}

/* Convert a path, or a dump: (path, trace). */
static bool
take_file(PyObject *kept, PyTypeObject *type, PyObject *item,
          fd_trace_file *file)
{
    PyObject *path = item;
    PyObject *dump = NULL;
    if (PyTuple_Check(item)
        && !PyArg_ParseTuple(item, "OO!", &path, type, &dump)) {
        return false;
    }
    *file = (fd_trace_file){kept_path(kept, path),
                            dump != NULL ? fd_trace_of(dump) : NULL};
    return file->path != NULL;
}

static const char *const *
take_notes(PyObject *kept, PyObject *list, uint32_t *count)
{
    Py_ssize_t size = PyList_GET_SIZE(list);
    const char **made =
        kept_memory(kept, (size + 1) * (Py_ssize_t)sizeof *made);
    *count = (uint32_t)size;
    for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
        made[i] = kept_path(kept, PyList_GET_ITEM(list, i));
        made = made[i] == NULL ? NULL : made;
    }
    return made;
}

static fd_trace_file *
take_files(PyObject *kept, PyTypeObject *type, PyObject *list, uint32_t *count)
{
    Py_ssize_t size = PyList_GET_SIZE(list);
    fd_trace_file *made =
        kept_memory(kept, (size + 1) * (Py_ssize_t)sizeof *made);
    *count = (uint32_t)size;
    for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
        if (!take_file(kept, type, PyList_GET_ITEM(list, i), &made[i])) {
            made = NULL;
        }
    }
    return made;
}

/* Convert a file, or a directory: (path, files, notes). */
static bool
take_source(PyObject *kept, PyTypeObject *type, PyObject *item,
            fd_trace_input *source)
{
    PyObject *path;
    PyObject *files;
    PyObject *notes;
    *source = (fd_trace_input){.files = NULL};
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 3) {
        return take_file(kept, type, item, &source->file);
    }
    if (!PyArg_ParseTuple(item, "OO!O!", &path, &PyList_Type, &files,
                          &PyList_Type, &notes)) {
        return false;
    }
    source->file.path = kept_path(kept, path);
    source->files = take_files(kept, type, files, &source->file_count);
    source->notes = take_notes(kept, notes, &source->note_count);
    return source->file.path != NULL && source->files != NULL
        && source->notes != NULL;
}

/* Return the inputs, which are valid as long as `kept`. */
static fd_trace_input *
take_sources(PyObject *kept, PyTypeObject *type, PyObject *inputs,
             size_t *count)
{
    PyObject *fast = PySequence_Fast(inputs, "paths must be a sequence");
    Py_ssize_t size = fast == NULL ? 0 : PySequence_Fast_GET_SIZE(fast);
    fd_trace_input *made =
        fast == NULL
            ? NULL
            : kept_memory(kept, (size + 1) * (Py_ssize_t)sizeof *made);
    for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
        if (!take_source(kept, type, PySequence_Fast_GET_ITEM(fast, i),
                         &made[i])) {
            made = NULL;
        }
    }
    Py_XDECREF(fast);
    *count = (size_t)size;
    return made;
}

/* Convert "settled", or the numbers of the first and last step. */
static bool
take_steps(PyObject *steps, fd_steps_wanted *wanted)
{
    if (steps == Py_None
        || (PyUnicode_Check(steps)
            && PyUnicode_CompareWithASCIIString(steps, "settled") == 0)) {
        return true;
    }
    unsigned long long first;
    unsigned long long last;
    if (!PyTuple_Check(steps)) {
        PyErr_SetString(fd_value_error(),
                        "steps must be None, 'settled' or (first, last)");
        return false;
    }
    if (!PyArg_ParseTuple(steps, "KK:steps", &first, &last)) {
        return false;
    }
    if (last < first) {
        PyErr_SetString(fd_value_error(),
                        "steps: the last step is before the first");
        return false;
    }
    *wanted = (fd_steps_wanted){.range = true, .first = first, .last = last};
    return true;
}

/* Convert the option that selects a part of the recording; NULL: all parts. */
static bool
take_part(const char *only, bool timeline, fd_trace_part *part)
{
    static const char *const names[] = {"totals", "open_calls", NULL};
    int found = only == NULL ? 0 : fd_choose_name("only", only, names);
    *part = only == NULL ? fd_part_of(timeline)
          : found == 0   ? FD_PART_TOTALS
                         : FD_PART_OPEN_CALLS;
    return found >= 0;
}

static PyObject *
open_trace(PyObject *module, PyObject *paths, fd_trace_part part,
           const fd_steps_wanted *steps)
{
    fd_trace *trace = NULL;
    fd_error error = {""};
    fd_status status;
    size_t count;
    PyObject *kept = PyList_New(0);
    fd_trace_input *sources =
        kept == NULL ? NULL
                     : take_sources(kept, fd_module_state_of(module)->trace,
                                    paths, &count);
    if (sources == NULL) {
        Py_XDECREF(kept);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        status = fd_source_open(&trace, sources, count, part, steps, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(kept);
    return status == FD_OK ? fd_trace_object(module, trace)
                           : fd_raise(module, status, &error);
}

static PyObject *
trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"paths", "timeline", "steps", "only", NULL};
    PyObject *paths;
    PyObject *steps = Py_None;
    const char *only = NULL;
    fd_steps_wanted wanted = {.range = false};
    fd_trace_part part;
    int timeline = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pOz:Trace", names,
                                     &paths, &timeline, &steps, &only)
        || !take_steps(steps, &wanted)
        || !take_part(only, timeline != 0, &part)) {
        return NULL;
    }
    return open_trace(PyType_GetModule(type), paths, part,
                      steps != Py_None ? &wanted : NULL);
}

PyObject *
fd_trace_object(PyObject *module, fd_trace *trace)
{
    PyTypeObject *type = fd_module_state_of(module)->trace;
    trace_object *self = (trace_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        fd_trace_free(trace);
        return NULL;
    }
    self->trace = trace;
    return (PyObject *)self;
}

static void
trace_dealloc(PyObject *self)
{
    fd_trace_free(fd_trace_of(self));
    fd_object_free(self);
}

/* Return whether the trace is reduced to some steps. A sum of ranks is not,
 * because it has no other steps. */
static bool
is_reduced(const fd_trace *trace)
{
    return trace->ranks.count > 0 && trace->ranks.list[0].window.applied
        && trace->ranks.list[0].reduced == 0;
}

static PyObject *
trace_dump(PyObject *self, PyObject *path)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    fd_error error = {""};
    fd_status status;
    if (is_reduced(fd_trace_of(self))) {
        Py_DECREF(bytes);
        fd_fail(&error, FD_EFORMAT,
                "a trace of selected steps cannot be dumped: load it without "
                "steps");
        return fd_raise(fd_module_of(self), FD_EFORMAT, &error);
    }
    Py_BEGIN_ALLOW_THREADS
        status =
            fd_dump_save(fd_trace_of(self), PyBytes_AS_STRING(bytes), &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(bytes);
    return fd_none_or_raise(fd_module_of(self), status, &error);
}

static PyMethodDef methods[] = {
    {"dump", trace_dump, METH_O,
     PyDoc_STR("dump($self, path, /)\n--\n\nWrite as JSON.")},
    {"columns", fd_trace_columns, METH_VARARGS,
     PyDoc_STR("columns($self, table, rank=-1, /)\n--\n\n"
               "A table; -1: one that all ranks share.")},
    {"job_arrays", fd_trace_job_arrays, METH_O,
     PyDoc_STR("job_arrays($self, rank, /)\n--\n\n"
               "The jobs of a rank as arrays.")},
    {"replace", fd_trace_replace, METH_O,
     PyDoc_STR("replace($self, changes, /)\n--\n\n"
               "Replace columns of tables.")},
    {"contexts", fd_trace_contexts, METH_VARARGS,
     PyDoc_STR("contexts($self, rank=-1, steady=False, /)\n--\n\n"
               "Columns, one row per call path; -1 sums over ranks.")},
    {"totals", fd_trace_totals, METH_VARARGS,
     PyDoc_STR("totals($self, rank=-1, steady=False, /)\n--\n\n"
               "The figures of contexts() as arrays, with their spreads.")},
    {"ranks", fd_trace_ranks, METH_NOARGS,
     PyDoc_STR("ranks($self, /)\n--\n\nOne dict per rank.")},
    {"table", fd_trace_table, METH_VARARGS,
     PyDoc_STR("table($self, by='function', rank=-1, /)\n--\n\n"
               "Columns, one row per group.")},
    {"groups", fd_trace_groups, METH_VARARGS,
     PyDoc_STR("groups($self, by='function', /)\n--\n\n"
               "The row of table(by) of each call path; -1: none.")},
    {"coverage", fd_trace_coverage, METH_VARARGS,
     PyDoc_STR("coverage($self, rank=-1, /)\n--\n\n"
               "Backward time and its attributed part.")},
    {"timeline_rows", fd_trace_timeline_rows, METH_VARARGS,
     PyDoc_STR("timeline_rows($self, rank, most, /)\n--\n\n"
               "The timeline of one rank, its longest calls.")},
    {"clock_facts", fd_trace_clock_facts, METH_O,
     PyDoc_STR("clock_facts($self, moments, /)\n--\n\n"
               "Facts for the alignment of the clocks of ranks.")},
    {"settled", fd_trace_settled, METH_NOARGS,
     PyDoc_STR("settled($self, /)\n--\n\n"
               "The settled steps of a trace of whole recordings.")},
    {"shared", fd_trace_shared, METH_NOARGS,
     PyDoc_STR("shared($self, /)\n--\n\n"
               "Nodes, modules and call paths, without ranks.")},
    {"stream", fd_trace_stream, METH_O,
     PyDoc_STR("stream($self, table, /)\n--\n\n"
               "A table as a capsule with an ArrowArrayStream.")},
    {"streams", fd_trace_streams, METH_NOARGS,
     PyDoc_STR("streams($self, /)\n--\n\nThe names of its tables.")},
    FD_KEYWORD_METHOD(
        "export", fd_trace_export,
        "export($self, format, *, rank=-1, durations='jobs', flows=True,\n"
        "       clocks=None, transfers=None)\n--\n\n"
        "The recording in another format, as bytes."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Trace(paths, *, timeline=False, steps=None, "
                "only=None)\n--\n\n"
                "Recordings, dumps and files of directories, merged."},
    {Py_tp_new, trace_new},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_trace_spec = FD_TYPE("Trace", trace_object, slots);
