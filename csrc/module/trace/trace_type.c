/* fastdispatch._core.Trace: recordings in memory, as columns. Its methods are
 * in the other files of this folder. */
#include "module/trace/trace_type.h"

#include "module/errors.h"
#include "profile/totals.h"
#include "trace/canonical_order.h"
#include "trace/figure_sums.h"
#include "trace/reader/recording_reader.h"
#include "trace/step_window.h"
#include "trace/trace_merge.h"

typedef struct trace_object {
    PyObject_HEAD fd_trace *trace; /* owned */
    fd_figure_sums sums;           /* of the traces that it took as totals */
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

/* The steps that an argument selects: None, "settled", or the numbers of the
 * first and last step. */
typedef struct chosen_steps {
    bool given;
    fd_steps_wanted wanted;
} chosen_steps;

static int
take_steps(PyObject *steps, void *to)
{
    chosen_steps *chosen = to;
    fd_steps_wanted *wanted = &chosen->wanted;
    unsigned long long first = 0;
    unsigned long long last = 0;
    bool range = PyTuple_Check(steps);
    chosen->given = steps != Py_None;
    if (range && !PyArg_ParseTuple(steps, "KK:steps", &first, &last)) {
        return 0;
    }
    if (chosen->given && !range
        && !(PyUnicode_Check(steps)
             && PyUnicode_CompareWithASCIIString(steps, "settled") == 0)) {
        PyErr_SetString(fd_value_error(),
                        "steps must be None, 'settled' or (first, last)");
        return 0;
    }
    if (last < first) {
        PyErr_SetString(fd_value_error(),
                        "steps: the last step is before the first");
        return 0;
    }
    *wanted = (fd_steps_wanted){.range = range, .first = first, .last = last};
    return 1;
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

/* Read a recording; NULL: make an empty trace. */
static PyObject *
read_trace(PyObject *module, const char *path, fd_trace_part part,
           const fd_steps_wanted *steps)
{
    fd_trace *trace = NULL;
    fd_error error = {""};
    fd_status status = FD_OK;
    Py_BEGIN_ALLOW_THREADS
        if (path != NULL) {
            status =
                fd_reader_read_steps(&trace, path, part, true, steps, &error);
        }
        else {
            trace = fd_trace_new();
            status = trace != NULL ? FD_OK : FD_ENOMEM;
        }
    Py_END_ALLOW_THREADS
    return status == FD_OK ? fd_trace_object(module, trace)
                           : fd_raise(module, status, &error);
}

static PyObject *
trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "timeline", "steps", "only", NULL};
    PyObject *path = Py_None;
    PyObject *bytes = NULL;
    const char *only = NULL;
    chosen_steps steps = {.given = false};
    fd_trace_part part;
    int timeline = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$pO&z:Trace", names,
                                     &path, &timeline, take_steps, &steps,
                                     &only)
        || !take_part(only, timeline != 0, &part)
        || (path != Py_None && !PyUnicode_FSConverter(path, &bytes))) {
        return NULL;
    }
    PyObject *made =
        read_trace(PyType_GetModule(type),
                   bytes != NULL ? PyBytes_AS_STRING(bytes) : NULL, part,
                   steps.given ? &steps.wanted : NULL);
    Py_XDECREF(bytes);
    return made;
}

/* Move the content of another trace here; sum up its figures on request. */
static PyObject *
trace_take(PyObject *self, PyObject *args)
{
    trace_object *into = (trace_object *)self;
    PyObject *from;
    PyObject *name;
    int totals = 0;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTuple(args, "O!O&|p:take", Py_TYPE(self), &from,
                          PyUnicode_FSConverter, &name, &totals)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        status = fd_merge_take(into->trace, fd_trace_of(from),
                               PyBytes_AS_STRING(name), &error);
        if (status == FD_OK && totals) {
            status = fd_figure_sums_add(&into->sums, into->trace);
        }
    Py_END_ALLOW_THREADS
    Py_DECREF(name);
    return fd_none_or_raise(fd_module_of(self), status, &error);
}

/* Sort, and reduce to the selected steps on request. */
static PyObject *
trace_finish(PyObject *self, PyObject *args)
{
    trace_object *own = (trace_object *)self;
    int reduce = 0;
    fd_status status;
    if (!PyArg_ParseTuple(args, "|p:finish", &reduce)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        if (own->sums.ranks > 0) {
            fd_figure_sums_move(&own->sums, own->trace);
        }
        status = fd_trace_sort(own->trace);
        if (status == FD_OK && reduce) {
            status = fd_window_apply(&own->trace);
        }
    Py_END_ALLOW_THREADS
    return fd_none_or_raise(fd_module_of(self), status, NULL);
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

static PyObject *
trace_settled(PyObject *self, PyObject *unused)
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

static PyObject *
trace_shared(PyObject *self, PyObject *unused)
{
    (void)unused;
    return derived_trace(self, copy_shared);
}

static void
trace_dealloc(PyObject *self)
{
    fd_figure_sums_clear(&((trace_object *)self)->sums);
    fd_trace_free(fd_trace_of(self));
    fd_object_free(self);
}

static PyMethodDef methods[] = {
    {"take", trace_take, METH_VARARGS,
     PyDoc_STR("take($self, other, name, totals=False, /)\n--\n\n"
               "Move the content of another trace here.")},
    {"finish", trace_finish, METH_VARARGS,
     PyDoc_STR("finish($self, reduce=False, /)\n--\n\n"
               "End a merge; reduce it to the selected steps.")},
    {"columns", fd_trace_columns, METH_VARARGS,
     PyDoc_STR("columns($self, table, rank=-1, /)\n--\n\n"
               "A table; -1: one that all ranks share.")},
    {"arrays", fd_trace_arrays, METH_VARARGS,
     PyDoc_STR("arrays($self, table, rank=-1, /)\n--\n\n"
               "A table, with its numbers as arrays.")},
    {"replace", fd_trace_replace, METH_O,
     PyDoc_STR("replace($self, changes, /)\n--\n\n"
               "Replace columns of tables.")},
    {"contexts", fd_trace_contexts, METH_VARARGS,
     PyDoc_STR("contexts($self, rank=-1, steady=False, /)\n--\n\n"
               "Columns, one row per call path; -1 sums over ranks.")},
    {"totals", fd_trace_totals, METH_VARARGS,
     PyDoc_STR("totals($self, rank=-1, steady=False, /)\n--\n\n"
               "The figures of contexts() as arrays, with their spreads.")},
    {"table", fd_trace_table, METH_VARARGS,
     PyDoc_STR("table($self, by='function', rank=-1, /)\n--\n\n"
               "Columns, one row per group.")},
    {"groups", fd_trace_groups, METH_VARARGS,
     PyDoc_STR("groups($self, by='function', /)\n--\n\n"
               "The row of table(by) of each call path; -1: none.")},
    {"settled", trace_settled, METH_NOARGS,
     PyDoc_STR("settled($self, /)\n--\n\n"
               "The settled steps of a trace of whole recordings.")},
    {"shared", trace_shared, METH_NOARGS,
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
    {Py_tp_doc, "Trace(path=None, *, timeline=False, steps=None, "
                "only=None)\n--\n\n"
                "A recording; or nothing, for a merge."},
    {Py_tp_new, trace_new},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_trace_spec = FD_TYPE("Trace", trace_object, slots);
