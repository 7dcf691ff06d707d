/* timeline_survey(), timeline_merge(): conversion of arguments and results. */
#include "module/events/timeline_binding.h"

#include "base/alloc.h"
#include "events/tools/input_survey.h"
#include "events/tools/timeline_merge.h"
#include "module/errors.h"
#include "module/events/clock_binding.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

static PyObject *
survey_result(const fd_timeline_survey *survey)
{
    PyObject *first = survey->has_first ? PyLong_FromLongLong(survey->first_ns)
                                        : Py_NewRef(Py_None);
    return Py_BuildValue(
        "{s:O,s:s,s:K,s:s,s:N,s:N}", "is_trace",
        survey->is_trace ? Py_True : Py_False, "format", survey->format,
        "size", (unsigned long long)survey->size, "trouble", survey->trouble,
        "first", first, "members",
        PyBytes_FromStringAndSize(survey->members.bytes,
                                  (Py_ssize_t)survey->members.size));
}

typedef struct surveying {
    PyObject *take; /* borrowed */
    bool found;
    bool raised;
} surveying;

/* Pass on rows with all their texts. */
static bool
take_moments(void *context, const fd_event_row *rows, uint32_t count,
             const fd_text_pool *texts)
{
    surveying *s = context;
    uint32_t passed = 0;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = fd_give_rows(s->take, rows, count, texts, &passed);
    s->raised = answer == NULL;
    s->found = answer != NULL && PyObject_IsTrue(answer) > 0;
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return !s->raised;
}

PyObject *
fd_timeline_survey_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "first", "take", NULL};
    PyObject *path = NULL;
    int first = 0;
    surveying s = {.take = Py_None};
    fd_timeline_survey survey;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$pO:timeline_survey",
                                     names, PyUnicode_FSConverter, &path,
                                     &first, &s.take)) {
        return NULL;
    }
    const fd_timeline_survey_options options = {
        first != 0, s.take != Py_None ? take_moments : NULL, &s, &s.found};
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_survey_read(&survey, PyBytes_AS_STRING(path),
                                         options, &error);
    Py_END_ALLOW_THREADS
    PyObject *made = s.raised        ? NULL
                   : status == FD_OK ? survey_result(&survey)
                                     : fd_raise(module, status, &error);
    fd_timeline_survey_clear(&survey);
    Py_DECREF(path);
    return made;
}

fd_transfers
fd_take_transfers(PyObject *bytes)
{
    if (bytes == NULL) {
        return (fd_transfers){NULL, 0};
    }
    size_t size = (size_t)PyBytes_GET_SIZE(bytes);
    return (fd_transfers){
        (const fd_transfer_end *)(const void *)PyBytes_AS_STRING(bytes),
        (uint32_t)(size / sizeof(fd_transfer_end))};
}

/* Convert an input by the names of its members. */
static bool
take_input(PyObject *nothing, PyObject *members, fd_timeline_input *input)
{
    static char *names[] = {"path",    "content", "rank",   "program",
                            "label",   "beside",  "merged", "clock",
                            "damaged", "damage",  "kept",   "transfers",
                            NULL};
    int beside = 0;
    PyObject *clock = NULL;
    unsigned long long damaged = 0;
    PyObject *kept = NULL;
    PyObject *transfers = NULL;
    *input = (fd_timeline_input){
        .label = "", .program = "", .clock = {.method = "none"}};
    if (!PyDict_Check(members)) {
        PyErr_SetString(PyExc_TypeError, "an input is a dict");
        return false;
    }
    if (!PyArg_ParseTupleAndKeywords(
            nothing, members, "|$yyIsypIOKzO!S:input", names, &input->path,
            &input->content, &input->rank, &input->program, &input->label,
            &beside, &input->merged, &clock, &damaged, &input->damage,
            &PyBytes_Type, &kept, &transfers)) {
        return false;
    }
    if (input->path == NULL || input->rank >= FD_TIMELINE_RANKS) {
        PyErr_SetString(fd_value_error(), "an input has a path and a rank");
        return false;
    }
    input->content = input->content != NULL ? input->content : input->path;
    input->beside = beside != 0;
    input->damaged = damaged;
    if (kept != NULL) {
        input->kept = PyBytes_AS_STRING(kept);
        input->kept_bytes = (size_t)PyBytes_GET_SIZE(kept);
    }
    input->transfers = fd_take_transfers(transfers);
    return clock == NULL || fd_take_clock(clock, &input->clock);
}

/* Convert a list of dicts, whose texts the inputs borrow, to inputs, which the
 * caller frees. Return NULL with an exception on failure. */
static fd_timeline_input *
take_inputs(PyObject *list, uint32_t *count)
{
    PyObject *nothing = PyTuple_New(0);
    *count = (uint32_t)PyList_GET_SIZE(list);
    fd_timeline_input *inputs = fd_calloc((size_t)*count + 1, sizeof *inputs);
    bool made = nothing != NULL && inputs != NULL;
    if (inputs == NULL) {
        PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < *count && made; i++) {
        made = take_input(nothing, PyList_GET_ITEM(list, (Py_ssize_t)i),
                          &inputs[i]);
    }
    Py_XDECREF(nothing);
    if (!made) {
        fd_free(inputs);
        return NULL;
    }
    return inputs;
}

#define INPUT(name) FD_COLUMN(fd_timeline_input, #name, U64, name)
#define NATIVE(name) FD_COLUMN(fd_timeline_input, #name, U64, native.name)

static const fd_column input_columns[] = {
    INPUT(events),   INPUT(arrows),
    INPUT(filtered), INPUT(overlaps),
    INPUT(lost),     INPUT(lost_bytes),
    INPUT(repaired), FD_COLUMN(fd_timeline_input, "trouble", CHARS, trouble),
    NATIVE(aside),   NATIVE(crossed),
    NATIVE(alone),   NATIVE(skipped),
    NATIVE(early)};
static const fd_table inputs_table =
    FD_TABLE("inputs", input_columns, fd_timeline_input, false);

PyObject *
fd_timeline_merge_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs",   "output",  "sorted", "named_durations",
                            "progress", "base_ns", "total",  NULL};
    PyObject *list;
    PyObject *output = NULL;
    PyObject *base = Py_None;
    int sorted = 0;
    int named = 0;
    unsigned long long total = 0;
    fd_progress_call progress = {.function = Py_None};
    fd_timeline_input *inputs = NULL;
    uint32_t count;
    PyObject *made = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O&|$ppOOK:timeline_merge", names, &PyList_Type,
            &list, PyUnicode_FSConverter, &output, &sorted, &named,
            &progress.function, &base, &total)) {
        return NULL;
    }
    fd_timeline_request request = {
        .output = PyBytes_AS_STRING(output),
        .named_durations = named != 0,
        .sorted = sorted != 0,
        .has_base = base != Py_None,
        .base_ns = base != Py_None ? PyLong_AsLongLong(base) : 0,
        .total = total,
        .progress = fd_report_progress,
        .context = &progress};
    if (PyErr_Occurred() == NULL) {
        inputs = take_inputs(list, &count);
    }
    if (inputs != NULL) {
        fd_error error = {""};
        fd_status status;
        Py_BEGIN_ALLOW_THREADS
            status = fd_timeline_merge(&request, inputs, count, &error);
        Py_END_ALLOW_THREADS
        made = progress.raised ? NULL
             : status == FD_OK ? fd_records(&inputs_table, inputs, count)
                               : fd_raise(module, status, &error);
    }
    fd_free(inputs);
    Py_DECREF(output);
    return made;
}
