/* pipeline_report(): conversion of arguments and results. */
#include "module/pipeline/pipeline_report_binding.h"

#include "events/recorded/recording_inputs.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/pipeline/plan_type.h"
#include "module/trace/trace_type.h"

/* Converted arguments, owned while the report is computed. */
typedef struct arguments {
    const fd_trace *trace; /* borrowed */
    fd_pipe_known *known;  /* owned, as the fields below */
    uint32_t *layers;
    double *weights;
    fd_pipe_request request;
} arguments;

static bool
take_known(arguments *a, PyObject *list)
{
    Py_ssize_t count = (Py_ssize_t)a->trace->ranks.count;
    if (PyList_GET_SIZE(list) != count) {
        PyErr_SetString(fd_value_error(), "known: one per rank");
        return false;
    }
    a->known = fd_calloc((size_t)count + 1, sizeof *a->known);
    if (a->known == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int index;
        int data;
        int model;
        if (!PyArg_Parse(PyList_GET_ITEM(list, i), "(iii)", &index, &data,
                         &model)) {
            return false;
        }
        a->known[i] =
            (fd_pipe_known){.position = index > INT16_MAX ? -1 : index,
                            .data = data,
                            .model = model};
    }
    return true;
}

static bool
take_layers(arguments *a, PyObject *layers)
{
    if (layers == Py_None) {
        return true;
    }
    a->layers = fd_take_numbers(layers, "I", sizeof *a->layers);
    if (a->layers == NULL) {
        return false;
    }
    Py_ssize_t count = PyList_GET_SIZE(layers);
    for (Py_ssize_t i = 1; i < count; i++) {
        if (a->layers[i] < a->layers[i - 1]) {
            PyErr_SetString(fd_value_error(), "layers: in ascending order");
            return false;
        }
    }
    a->request.layers.first = a->layers;
    a->request.layers.stages = count > 0 ? (uint32_t)count - 1 : 0;
    return true;
}

/* Convert weights: one per layer, up to the last layer of the last stage. */
static bool
take_weights(arguments *a, PyObject *weights)
{
    if (weights == Py_None || a->layers == NULL) {
        return true;
    }
    a->weights = fd_take_numbers(weights, "d", sizeof *a->weights);
    a->request.layers.weights = a->weights;
    if (a->weights != NULL
        && PyList_GET_SIZE(weights)
               < (Py_ssize_t)a->layers[a->request.layers.stages]) {
        PyErr_SetString(fd_value_error(), "weights: one per layer");
        return false;
    }
    return a->weights != NULL;
}

static bool
take_choice(arguments *a, PyObject *iterations)
{
    a->request.choice.given = iterations != Py_None;
    return iterations == Py_None
        || PyArg_Parse(iterations, "(ii)", &a->request.choice.from,
                       &a->request.choice.to);
}

static PyObject *
theory_object(const fd_pipe_theory *of)
{
    return Py_BuildValue("{s:L,s:d,s:d}", "makespan", (long long)of->makespan,
                         "of_total", of->of_total, "of_ideal", of->of_ideal);
}

static PyObject *
schedule_object(const fd_pipe_report *report)
{
    const fd_pipe_schedule *found = &report->schedule;
    if (!found->known) {
        return Py_BuildValue("{s:O,s:s,s:I}", "name", Py_None, "difference",
                             found->difference, "micro_batches",
                             (unsigned)found->micro_batches);
    }
    return Py_BuildValue(
        "{s:s,s:s,s:I,s:O,s:s,s:N,s:N,s:N,s:N,s:N}", "name",
        fd_schedule_name(found->plan.schedule), "difference",
        found->difference, "micro_batches", (unsigned)found->micro_batches,
        "blocking", found->blocking ? Py_True : Py_False, "transfers",
        found->posted == NULL ? "unknown"
        : found->blocking     ? "blocking"
        : found->mixed        ? "mixed"
                              : "posted",
        "ideal", theory_object(&report->ifs.ideal), "stages",
        theory_object(&report->ifs.stages), "base",
        theory_object(&report->ifs.base), "in_flight",
        fd_plan_in_flights(&found->plan), "buffers",
        fd_number_list(found->plan.buffers, found->plan.stages));
}

/* Return, per rank, the time that it waited for each stage. */
static PyObject *
waits_object(const fd_pipe_report *report)
{
    const fd_pipe *p = &report->pipeline;
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < p->ranks.count; i++) {
        const int64_t *row = &report->idle.waits[(size_t)i * p->stages];
        rows = fd_list_with(rows, fd_time_list(row, p->stages, 1));
    }
    return rows;
}

static PyObject *
result_of(const fd_pipe_report *report)
{
    const fd_pipe *p = &report->pipeline;
    PyObject *made = Py_BuildValue(
        "{s:I,s:I,s:I,s:I,s:O,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "stages",
        (unsigned)p->stages, "chunks", (unsigned)p->chunks, "globals",
        (unsigned)p->globals, "lines", (unsigned)p->lines, "guessed",
        p->guessed ? Py_True : Py_False, "evals", (unsigned)p->evals,
        "unknown", (unsigned)p->unknown, "undirected", (unsigned)p->undirected,
        "matched", (unsigned)report->matches.matched, "local",
        (unsigned)report->matches.local, "early", (unsigned)report->early,
        "drawn_line", (unsigned)report->drawn_line);
    int32_t drawn = report->idle.drawn;
    made = fd_columns_with(made, "drawn",
                           drawn < 0
                               ? Py_NewRef(Py_None)
                               : PyLong_FromLong(p->iterations.list[drawn]));
    made = fd_columns_with(made, "ranks", fd_pipeline_ranks_py(report));
    made = fd_columns_with(made, "shares", fd_pipeline_shares_py(report));
    made = fd_columns_with(made, "waits", waits_object(report));
    made =
        fd_columns_with(made, "intervals", fd_pipeline_intervals_py(report));
    made = fd_columns_with(made, "path", fd_pipeline_path_py(report));
    made = fd_columns_with(made, "jobs", fd_pipeline_jobs_py(report));
    made = fd_columns_with(made, "open", fd_pipeline_open_py(report));
    made = fd_columns_with(made, "alone", fd_pipeline_alone_py(report));
    made = fd_columns_with(made, "schedule", schedule_object(report));
    return fd_columns_with(made, "what_if", fd_pipeline_ifs_py(report));
}

static PyObject *
report_of(PyObject *module, arguments *a)
{
    fd_pipe_report report = {.drawn_line = 0};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_pipeline(&report, a->trace, a->known, &a->request,
                                      &error);
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? result_of(&report)
                                     : fd_raise(module, status, &error);
    fd_pipe_report_clear(&report);
    return made;
}

PyObject *
fd_pipeline_report_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"trace",  "known",  "schedule", "iterations",
                            "strict", "layers", "weights",  NULL};
    PyObject *trace;
    PyObject *known;
    const char *named = NULL;
    PyObject *iterations = Py_None;
    int strict = 0;
    PyObject *layers = Py_None;
    PyObject *weights = Py_None;
    arguments a = {.known = NULL};
    PyObject *made = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O!|$zOpOO:pipeline_report", names,
            fd_module_state_of(module)->trace, &trace, &PyList_Type, &known,
            &named, &iterations, &strict, &layers, &weights)) {
        return NULL;
    }
    a.trace = fd_trace_of(trace);
    a.request.named = named == NULL ? FD_SCHEDULES : fd_schedule_named(named);
    a.request.strict = strict != 0;
    if (take_known(&a, known) && take_choice(&a, iterations)
        && take_layers(&a, layers) && take_weights(&a, weights)) {
        made = report_of(module, &a);
    }
    fd_free(a.known);
    fd_free(a.layers);
    fd_free(a.weights);
    return made;
}
