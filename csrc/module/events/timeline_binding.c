/* timeline_merge(): conversion of arguments and results. */
#include "module/events/timeline_binding.h"

#include "base/alloc.h"
#include "events/tools/timeline_merge.h"
#include "module/errors.h"
#include "module/events/clock_binding.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

/* Converted arguments, owned while the merge runs. */
typedef struct arguments {
    PyObject *output;          /* owned; bytes */
    PyObject *paths;           /* owned; list of bytes */
    fd_timeline_input *inputs; /* owned */
    uint32_t count;
    uint32_t *ranks; /* owned; NULL: all */
    size_t rank_count;
    bool has_steps;
    uint64_t steps[2];
    bool has_times;
    int64_t times[2];
    bool named_durations;
    int moments;
    int starts;
    int sorted;
    fd_progress_call progress;
} arguments;

static void
clear_arguments(arguments *a)
{
    Py_XDECREF(a->output);
    Py_XDECREF(a->paths);
    fd_free(a->inputs);
    fd_free(a->ranks);
}

/* Convert a non-negative integer that is valid as a rank. */
static bool
take_rank(PyObject *object, uint32_t *rank)
{
    unsigned long number = PyLong_AsUnsignedLong(object);
    if (PyErr_Occurred() == NULL && number >= FD_TIMELINE_RANKS) {
        PyErr_Format(fd_value_error(), "rank %lu is too large", number);
    }
    *rank = (uint32_t)number;
    return PyErr_Occurred() == NULL;
}

bool
fd_take_inputs(PyObject *list, PyObject **paths, fd_timeline_input **inputs,
               uint32_t *count)
{
    *count = (uint32_t)PyList_GET_SIZE(list);
    *paths = PyList_New((Py_ssize_t)*count);
    *inputs = fd_calloc(*count, sizeof **inputs);
    if (*paths == NULL || *inputs == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < *count; i++) {
        fd_timeline_input *input = &(*inputs)[i];
        PyObject *path;
        PyObject *rank;
        PyObject *bytes = NULL;
        unsigned long long damaged = 0;
        PyObject *item = PyList_GET_ITEM(list, (Py_ssize_t)i);
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "an input is a file and a rank");
            return false;
        }
        if (!PyArg_ParseTuple(item, "OO|yKz", &path, &rank, &input->content,
                              &damaged, &input->damage)
            || !take_rank(rank, &input->rank)
            || !PyUnicode_FSConverter(path, &bytes)) {
            return false;
        }
        PyList_SET_ITEM(*paths, (Py_ssize_t)i, bytes);
        input->path = PyBytes_AS_STRING(bytes);
        input->damaged = damaged;
        if (PyList_Append(*paths, item) != 0) { /* keeps its texts */
            return false;
        }
    }
    return true;
}

/* Convert a list of ranks to an array; None: all, and `numbers` is NULL. */
static bool
take_rank_list(PyObject *list, uint32_t **numbers, size_t *count)
{
    if (list == Py_None) {
        return true;
    }
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "ranks must be a list or None");
        return false;
    }
    *count = (size_t)PyList_GET_SIZE(list);
    *numbers = fd_calloc(*count + 1, sizeof **numbers);
    if (*numbers == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        if (!take_rank(PyList_GET_ITEM(list, (Py_ssize_t)i), &(*numbers)[i])) {
            return false;
        }
    }
    return true;
}

static bool
take_steps(arguments *a, PyObject *pair)
{
    unsigned long long first;
    unsigned long long end;
    if (pair == Py_None) {
        return true;
    }
    if (!PyArg_Parse(pair, "(KK)", &first, &end)) {
        return false;
    }
    a->has_steps = true;
    a->steps[0] = first;
    a->steps[1] = end;
    return true;
}

/* Convert a bound of times; None: no bound. */
static bool
take_time(PyObject *object, int64_t none, int64_t *ns)
{
    *ns = object == Py_None ? none : PyLong_AsLongLong(object);
    return PyErr_Occurred() == NULL;
}

static bool
take_times(arguments *a, PyObject *pair)
{
    PyObject *begin;
    PyObject *end;
    a->has_times = pair != Py_None;
    return !a->has_times
        || (PyArg_Parse(pair, "(OO)", &begin, &end)
            && take_time(begin, INT64_MIN, &a->times[0])
            && take_time(end, INT64_MAX, &a->times[1]));
}

static bool
find_steps(void *context, const char *path, uint64_t first_step,
           uint64_t end_step, bool *any, int64_t times[2])
{
    fd_progress_call *calls = context;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *file = PyUnicode_DecodeFSDefault(path);
    PyObject *answer =
        file == NULL ? NULL
                     : PyObject_CallFunction(calls->steps, "NKK", file,
                                             (unsigned long long)first_step,
                                             (unsigned long long)end_step);
    long long pair[2];
    *any = answer != NULL && answer != Py_None;
    calls->raised = answer == NULL
                 || (*any && !PyArg_Parse(answer, "(LL)", &pair[0], &pair[1]));
    for (int i = 0; i < 2 && *any && !calls->raised; i++) {
        times[i] = pair[i];
    }
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return !calls->raised;
}

static PyObject *
known_time(bool is_known, int64_t ns)
{
    return is_known ? PyLong_FromLongLong(ns) : Py_NewRef(Py_None);
}

static PyObject *
input_row(const fd_timeline_input *input, PyObject *path)
{
    const fd_rank_clock *clock = &input->clock;
    return Py_BuildValue(
        "{s:N,s:I,s:s,s:s,s:O,s:O,s:I,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:s,s:L,s:L,"
        "s:d,s:N,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:z}",
        "file", PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(path)), "rank",
        (unsigned)input->rank, "format", input->survey.format, "program",
        input->survey.program, "used", input->used ? Py_True : Py_False,
        "left_out", input->left_out ? Py_True : Py_False, "world",
        (unsigned)input->survey.world, "events",
        (unsigned long long)input->events, "arrows",
        (unsigned long long)input->arrows, "filtered",
        (unsigned long long)input->filtered, "lost",
        (unsigned long long)input->lost, "lost_bytes",
        (unsigned long long)input->lost_bytes, "repaired",
        (unsigned long long)input->repaired, "trouble", input->trouble,
        "align", clock->method, "offset_ns", (long long)clock->map.offset_ns,
        "at_ns", (long long)clock->map.at_ns, "drift_ppb",
        (double)clock->map.drift_ppt / 1000, "uncertainty_ns",
        known_time(clock->uncertainty_ns != FD_CLOCK_UNKNOWN,
                   clock->uncertainty_ns),
        "residual_ns", known_time(clock->has_residual, clock->residual_ns),
        "violations", (unsigned long long)clock->violations, "aside",
        (unsigned long long)input->native.aside, "crossed",
        (unsigned long long)input->native.crossed, "alone",
        (unsigned long long)input->native.alone, "skipped",
        (unsigned long long)input->native.skipped, "early",
        (unsigned long long)input->native.early, "overlaps",
        (unsigned long long)input->overlaps, "unread", input->survey.unread);
}

static PyObject *
input_rows(const arguments *a)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < a->count; i++) {
        list = fd_list_with(
            list, input_row(&a->inputs[i], PyList_GET_ITEM(a->paths, i)));
    }
    return list;
}

static PyObject *
merge_inputs(PyObject *module, arguments *a)
{
    fd_timeline_request request = {
        .output = PyBytes_AS_STRING(a->output),
        .align = fd_align_by,
        .find_steps = a->progress.steps == NULL ? NULL : find_steps,
        .moments = a->moments != 0,
        .starts = a->starts != 0,
        .ranks = a->ranks,
        .rank_count = a->rank_count,
        .has_steps = a->has_steps,
        .first_step = a->steps[0],
        .end_step = a->steps[1],
        .has_times = a->has_times,
        .begin_ns = a->times[0],
        .end_ns = a->times[1],
        .named_durations = a->named_durations,
        .sorted = a->sorted != 0,
        .progress = fd_report_progress,
        .context = &a->progress};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_merge(&request, a->inputs, a->count, &error);
    Py_END_ALLOW_THREADS
    if (a->progress.raised) {
        return NULL;
    }
    return status == FD_OK ? input_rows(a) : fd_raise(module, status, &error);
}

PyObject *
fd_timeline_merge_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "inputs", "output",          "align",    "ranks",   "sorted",
        "steps",  "named_durations", "progress", "moments", "starts",
        "times",  "find_steps",      NULL};
    arguments a = {.output = NULL};
    PyObject *inputs;
    PyObject *ranks = Py_None;
    PyObject *steps = Py_None;
    PyObject *times = Py_None;
    PyObject *find = Py_None;
    PyObject *progress = Py_None;
    PyObject *align = Py_None;
    int named_durations = 0;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O&|$OOpOpOppOO:timeline_merge", names,
            &PyList_Type, &inputs, PyUnicode_FSConverter, &a.output, &align,
            &ranks, &a.sorted, &steps, &named_durations, &progress, &a.moments,
            &a.starts, &times, &find)
        && fd_take_inputs(inputs, &a.paths, &a.inputs, &a.count)
        && take_rank_list(ranks, &a.ranks, &a.rank_count)
        && take_steps(&a, steps) && take_times(&a, times)) {
        a.named_durations = named_durations != 0;
        a.progress.function = progress;
        a.progress.align = align == Py_None ? NULL : align;
        a.progress.steps = find == Py_None ? NULL : find;
        made = merge_inputs(module, &a);
    }
    clear_arguments(&a);
    return made;
}
