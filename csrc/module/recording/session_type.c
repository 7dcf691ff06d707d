/* fastdispatch._core.Session: a recording session. */
#include "capture/frames/notebook_calls.h"
#include "capture/hooks/collection_hook.h"
#include "capture/hooks/step_calls.h"
#include "capture/operators/records.h"
#include "capture/session/session.h"
#include "capture/timers/call_timers.h"
#include "capture/torch/record_layout.h"
#include "module/errors.h"
#include "module/pipeline/engine_binding.h"
#include "module/recording/folder_type.h"
#include "module/recording/operands_binding.h"
#include "module/recording/session_options.h"
#include "module/trace/trace_type.h"
#include "recording/recording.h"
#include "trace/reader/recording_reader.h"

typedef struct session_object {
    PyObject_HEAD fd_session *session; /* owned */
} session_object;

fd_session *
fd_session_of(PyObject *self)
{
    return ((session_object *)self)->session;
}

static fd_thread *
this_thread(void)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL) {
        PyErr_NoMemory();
    }
    return thread;
}

static PyObject *
optional_object(PyObject *value)
{
    return value == NULL || value == Py_None ? NULL : Py_NewRef(value);
}

/* Create an object with an open session. `path` may be None; it is a name if a
 * folder is given. */
static PyObject *
session_opened(PyTypeObject *type, PyObject *path, PyObject *holder,
               int max_mb, int timing)
{
    PyObject *bytes = NULL;
    const fd_folder *folder = NULL;
    if (holder != Py_None) {
        folder = fd_folder_in(PyType_GetModule(type), holder);
        if (folder == NULL) {
            return NULL;
        }
    }
    if (path != Py_None && !PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    session_object *self = (session_object *)type->tp_alloc(type, 0);
    const char *name = bytes != NULL ? PyBytes_AS_STRING(bytes) : NULL;
    fd_error error = {""};
    fd_status status = self == NULL
                         ? FD_ENOMEM
                         : fd_session_open(&self->session, folder, name,
                                           (size_t)max_mb, timing, &error);
    Py_XDECREF(bytes);
    return fd_new_or_raise(type, self, status, &error);
}

static void
set_functions(fd_session *session, PyObject *keep, PyObject *schedule,
              PyObject *on_change, PyObject *on_ready, PyObject *on_site)
{
    session->keep = optional_object(keep);
    session->schedule = optional_object(schedule);
    session->on_change = optional_object(on_change);
    session->on_ready = optional_object(on_ready);
    session->step_plan.on_site = optional_object(on_site);
}

static void
set_rank(const fd_session *session, unsigned int rank, unsigned int world)
{
    fd_header *header = fd_file_header(&session->recording->file);
    header->rank = rank;
    header->world = world;
}

static PyObject *
session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path",     "max_mb",   "timing",    "calls",
                            "fold",     "prefixes", "rank",      "world",
                            "keep",     "schedule", "on_change", "on_ready",
                            "timeline", "folder",   "notebook",  "c_calls",
                            "on_site",  "step_of",  "budget",    NULL};
    PyObject *path = Py_None;
    PyObject *folder = Py_None;
    PyObject *prefixes = NULL;
    PyObject *keep = NULL;
    PyObject *schedule = NULL;
    PyObject *on_change = NULL;
    PyObject *on_ready = NULL;
    PyObject *on_site = NULL;
    const char *step_of = NULL;
    int max_mb = 64;
    int timing = 1;
    int calls = FD_CALLS_FRAME;
    int fold = 1, notebook = 0, c_calls = 0;
    fd_partial_plan partial = {0};
    unsigned int rank = 0;
    unsigned int world = 1;
    fd_timeline timeline = {.on = false};
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|O$ipipOIIOOOOO&OppOz(dd):Session", names, &path,
            &max_mb, &timing, &calls, &fold, &prefixes, &rank, &world, &keep,
            &schedule, &on_change, &on_ready, fd_session_timeline, &timeline,
            &folder, &notebook, &c_calls, &on_site, &step_of, &partial.budget,
            &partial.patience)) {
        return NULL;
    }
    PyObject *self = session_opened(type, path, folder, max_mb, timing);
    if (self == NULL) {
        return NULL;
    }
    fd_session *session = fd_session_of(self);
    session->calls = (fd_calls_source)calls;
    session->fold = fold;
    session->c_calls = c_calls;
    session->partial = partial;
    if (notebook) {
        fd_notebook_begin(session);
    }
    timeline.jobs = timing != 0;
    fd_recording_plan(session->recording, &timeline);
    session->origins.keeps_starts =
        timeline.on && timeline.shortest[FD_TIMELINE_OPS] != UINT64_MAX;
    set_rank(session, rank, world);
    set_functions(session, keep, schedule, on_change, on_ready, on_site);
    if (!fd_code_set_step(step_of)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (prefixes != NULL && fd_session_add_prefixes(session, prefixes) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return self;
}

static int
session_traverse(PyObject *self, visitproc visit, void *arg)
{
    const fd_session *session = fd_session_of(self);
    Py_VISIT(Py_TYPE(self));
    if (session != NULL) {
        Py_VISIT(session->keep);
        Py_VISIT(session->schedule);
        Py_VISIT(session->on_change);
        Py_VISIT(session->on_ready);
        Py_VISIT(session->step_plan.on_site);
        Py_VISIT(session->on_model);
        Py_VISIT(session->tensor);
        Py_VISIT(session->error);
        Py_VISIT(session->timers.in_use);
        Py_VISIT(session->timers.is_profiled);
        if (session->pipeline != NULL) {
            Py_VISIT(session->pipeline->on_pipeline);
        }
    }
    return 0;
}

static int
session_clear(PyObject *self)
{
    fd_session *session = fd_session_of(self);
    if (session != NULL && fd_process_active() != session) {
        fd_session_drop_objects(session);
    }
    return 0;
}

static void
session_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    fd_session *session = fd_session_of(self);
    if (session != NULL) {
        fd_session_stop(session);
        fd_session_finish(session);
        fd_session_retire(session);
    }
    fd_object_free(self);
}

static PyObject *
session_start(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_error error = {""};
    fd_status status = fd_session_start(fd_session_of(self), &error);
    return fd_none_or_raise(fd_module_of(self), status, &error);
}

static PyObject *
session_stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_session_stop(fd_session_of(self));
    Py_RETURN_NONE;
}

static PyObject *
session_wait_gpu(PyObject *self, PyObject *args)
{
    int patience_ms;
    if (!PyArg_ParseTuple(args, "i:wait_gpu", &patience_ms)) {
        return NULL;
    }
    if (fd_process_active() != fd_session_of(self)
        && fd_timers_wait(fd_session_of(self), patience_ms) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
session_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_session_finish(fd_session_of(self));
    Py_RETURN_NONE;
}

static PyObject *
session_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_thread *thread = this_thread();
    if (thread == NULL) {
        return NULL;
    }
    if (fd_process_active() == fd_session_of(self)) {
        fd_events_demanded(fd_session_of(self), thread);
    }
    Py_RETURN_NONE;
}

static PyObject *
session_record(PyObject *self, PyObject *args)
{
    int record;
    unsigned long long step;
    if (!PyArg_ParseTuple(args, "pK:record", &record, &step)) {
        return NULL;
    }
    fd_session_record(fd_session_of(self), record != 0, step);
    Py_RETURN_NONE;
}

static PyObject *
session_set_rank(PyObject *self, PyObject *args)
{
    unsigned int rank;
    unsigned int world;
    if (!PyArg_ParseTuple(args, "II:set_rank", &rank, &world)) {
        return NULL;
    }
    set_rank(fd_session_of(self), rank, world);
    Py_RETURN_NONE;
}

static PyObject *
session_note(PyObject *self, PyObject *args)
{
    const char *key;
    const char *json;
    if (!PyArg_ParseTuple(args, "ss:note", &key, &json)) {
        return NULL;
    }
    fd_recording_note(fd_session_of(self)->recording, key, json);
    Py_RETURN_NONE;
}

static PyObject *
session_attach_records(PyObject *self, PyObject *probe)
{
    fd_session *session = fd_session_of(self);
    fd_thread *thread = this_thread();
    fd_error error = {""};
    if (thread == NULL) {
        return NULL;
    }
    fd_status status = fd_records_attach(session, thread, probe, &error);
    if (status != FD_OK) {
        return fd_raise(fd_module_of(self), status, &error);
    }
    session->ops = FD_OPS_RECORD;
    if (session->running) {
        fd_records_listen(session);
    }
    return PyUnicode_FromString(fd_record_layout->name);
}

static PyObject *
session_measure(PyObject *self, PyObject *args)
{
    fd_session *session = fd_session_of(self);
    fd_measure_plan *plan = &session->measures;
    PyObject *operators;
    if (!PyArg_ParseTuple(args, "IO!:measure", &plan->kinds, &PyDict_Type,
                          &operators)) {
        return NULL;
    }
    session->steps.communicated = (plan->kinds & FD_MEASURING_COMM) != 0;
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *numbers;
    while (PyDict_Next(operators, &at, &key, &numbers)) {
        const char *name = PyUnicode_AsUTF8(key);
        if (name == NULL) {
            return NULL;
        }
        if (fd_measure_plan_add(plan, name, numbers == Py_True) != FD_OK) {
            return PyErr_NoMemory();
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
session_sample_gpu(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"globs",     "in_use",  "is_profiled",
                            "always",    "kernels", "modules",
                            "functions", "jobs",    NULL};
    int on[5] = {0};
    fd_timer_plan *plan = &fd_session_of(self)->timers;
    PyObject *globs;
    PyObject *in_use;
    PyObject *is_profiled;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO|$ppppp:sample_gpu",
                                     names, &PyList_Type, &globs, &in_use,
                                     &is_profiled, &on[0], &on[1], &on[2],
                                     &on[3], &on[4])
        || fd_session_globs(plan, globs) < 0) {
        return NULL;
    }
    plan->always = on[0] != 0;
    plan->kernels = on[1] != 0;
    plan->modules = on[2] != 0;
    plan->functions = on[3] != 0;
    plan->jobs = on[4] != 0;
    Py_XSETREF(plan->in_use, Py_NewRef(in_use));
    Py_XSETREF(plan->is_profiled, Py_NewRef(is_profiled));
    plan->wanted = true;
    Py_RETURN_NONE;
}

static PyObject *
session_collections(PyObject *self, PyObject *unused)
{
    (void)unused;
    return fd_collections_counts(fd_session_of(self));
}

static PyObject *
session_trace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"timeline", NULL};
    int timeline = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:trace", names,
                                     &timeline)) {
        return NULL;
    }
    const fd_file *file = &fd_session_of(self)->recording->file;
    fd_trace *trace = NULL;
    fd_error error = {""};
    fd_status status = fd_reader_read_memory(
        &trace, file->base, file->capacity, timeline != 0, &error);
    if (status != FD_OK) {
        fd_trace_free(trace);
        return fd_raise(fd_module_of(self), status, &error);
    }
    return fd_trace_object(fd_module_of(self), trace);
}

static PyObject *
list_durations(fd_partial_plan *plan)
{
    PyObject *list = PyList_New(plan->unasked);
    for (uint32_t i = 0; list != NULL && i < plan->unasked; i++) {
        double ns = (double)plan->durations[i] / fd_clock_hertz() * 1e9;
        PyObject *pair = Py_BuildValue("LK", (long long)ns,
                                       (unsigned long long)plan->worked[i]);
        if (pair == NULL) {
            Py_CLEAR(list);
        }
        else {
            PyList_SET_ITEM(list, i, pair);
        }
    }
    plan->unasked = 0;
    return list;
}

static PyObject *
session_progress(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_session *session = fd_session_of(self);
    fd_partial_plan *plan = &session->partial;
    PyObject *durations = list_durations(plan);
    uint32_t follows = fd_thread_self != NULL ? fd_thread_self->follows : 0;
    fd_thread_turns turns = {0};
    bool known = fd_thread_turns_of((uint32_t)gettid(), &turns);
    return Py_BuildValue(
        "IOKKLKN", plan->cuts, plan->watched ? Py_True : Py_False,
        (unsigned long long)fd_steps_calls(&session->steps),
        (unsigned long long)plan->followed + follows,
        known ? (long long)turns.queued : -1LL,
        (unsigned long long)((double)plan->handled / fd_clock_hertz() * 1e9),
        durations);
}

static PyObject *
session_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_recording *recording = fd_session_of(self)->recording;
    const fd_header *header = fd_file_header(&recording->file);
    return Py_BuildValue(
        "{s:k,s:I,s:I,s:I,s:I,s:I,s:k,s:I}", "bytes",
        (unsigned long)header->file_bytes, "nodes",
        recording->nodes.pool.count, "edges", recording->nodes.edges.count,
        "contexts", (unsigned int)recording->contexts, "modules",
        recording->modules.pool.count, "threads", recording->threads.count,
        "steps", (unsigned long)header->steps, "steps_source",
        header->steps_source);
}

static PyObject *
session_save(PyObject *self, PyObject *args)
{
    PyObject *holder;
    PyObject *name;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "OO&:save", &holder, PyUnicode_FSConverter,
                          &name)) {
        return NULL;
    }
    const fd_folder *folder = fd_folder_in(fd_module_of(self), holder);
    fd_status status = FD_OK;
    if (folder != NULL) {
        status = fd_file_save(&fd_session_of(self)->recording->file, folder,
                              PyBytes_AS_STRING(name), &error);
    }
    Py_DECREF(name);
    return folder == NULL
             ? NULL
             : fd_none_or_raise(fd_module_of(self), status, &error);
}

static PyObject *
session_get_path(PyObject *self, void *closure)
{
    (void)closure;
    const char *path = fd_session_of(self)->recording->file.path;
    return path == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(path);
}

static PyObject *
session_get_active(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(fd_process_active() == fd_session_of(self));
}

static PyObject *
session_get_module_visits(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(
        fd_session_of(self)->instances.finder.visits);
}

static PyObject *
session_get_error(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *error = fd_session_of(self)->error;
    return Py_NewRef(error != NULL ? error : Py_None);
}

static PyMethodDef methods[] = {
    {"start", session_start, METH_NOARGS,
     PyDoc_STR("start($self, /)\n--\n\nBegin to record.")},
    {"stop", session_stop, METH_NOARGS,
     PyDoc_STR("stop($self, /)\n--\n\n"
               "Stop for good; notes can still be added.")},
    {"wait_gpu", session_wait_gpu, METH_VARARGS,
     PyDoc_STR("wait_gpu($self, patience_ms, /)\n--\n\n"
               "After stop(): wait for timed calls on the GPU.")},
    {"finish", session_finish, METH_NOARGS,
     PyDoc_STR("finish($self, /)\n--\n\n"
               "Close the file of a stopped session.")},
    {"save", session_save, METH_VARARGS,
     PyDoc_STR("save($self, folder, name, /)\n--\n\n"
               "Write a recording that is in memory as a file.")},
    {"step", session_step, METH_NOARGS,
     PyDoc_STR("step($self, /)\n--\n\nEnd a training step.")},
    {"record", session_record, METH_VARARGS,
     PyDoc_STR("record($self, record, step, /)\n--\n\n"
               "Resume in this step, or pause without any hook.")},
    {"set_rank", session_set_rank, METH_VARARGS,
     PyDoc_STR("set_rank($self, rank, world, /)\n--\n\n"
               "Set the rank and the number of ranks.")},
    {"note", session_note, METH_VARARGS,
     PyDoc_STR("note($self, key, json, /)\n--\n\n"
               "Store a fact about the run; `json` is its value as text.")},
    {"attach_records", session_attach_records, METH_O,
     PyDoc_STR("attach_records($self, probe, /)\n--\n\n"
               "Listen to PyTorch's records; returns their layout.")},
    {"attach_operands", fd_session_attach_operands, METH_VARARGS,
     PyDoc_STR("attach_operands($self, tensor, places, run, on_model, /)\n"
               "--\n\nRecord what goes into operators and modules and out, "
               "for execution traces.")},
    {"attach_memory", fd_session_attach_memory, METH_O,
     PyDoc_STR("attach_memory($self, probe, /)\n--\n\nMeasure memory.")},
    {"measure", session_measure, METH_VARARGS,
     PyDoc_STR("measure($self, kinds, operators, /)\n--\n\n"
               "Measure operators.")},
    {"name_group", fd_session_name_group, METH_VARARGS,
     PyDoc_STR("name_group($self, address, text, /)\n"
               "--\n\nThe process group at an address.")},
    FD_KEYWORD_METHOD(
        "sample_gpu", session_sample_gpu,
        "sample_gpu($self, globs, in_use, is_profiled, *, always=False,\n"
        "           kernels=False, modules=False, functions=False,\n"
        "           jobs=False)\n--\n\n"
        "Time calls on the GPU, in some steps."),
    {"attach_pipeline", fd_pipeline_attach, METH_O,
     PyDoc_STR("attach_pipeline($self, on_pipeline, /)\n--\n\n"
               "Record calls of pipeline engines as jobs.")},
    {"pipeline", fd_pipeline_facts, METH_NOARGS,
     PyDoc_STR("pipeline($self, /)\n--\n\n"
               "Facts of the pipeline engine, or None.")},
    {"collections", session_collections, METH_NOARGS,
     PyDoc_STR("collections($self, /)\n--\n\n"
               "Runs, collected and uncollectable objects per generation.")},
    FD_KEYWORD_METHOD("trace", session_trace,
                      "trace($self, /, *, timeline=False)\n--\n\n"
                      "The recording so far, as a Trace."),
    {"progress", session_progress, METH_NOARGS,
     PyDoc_STR("progress($self, /)\n--\n\nFigures for a budget.")},
    {"stats", session_stats, METH_NOARGS,
     PyDoc_STR("stats($self, /)\n--\n\n"
               "Sizes of the recording's tables.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"path", session_get_path, NULL, PyDoc_STR("The file, or None."), NULL},
    {"active", session_get_active, NULL,
     PyDoc_STR("Whether this is the session that records."), NULL},
    {"module_visits", session_get_module_visits, NULL,
     PyDoc_STR("Modules visited so far in searches for paths."), NULL},
    {"error", session_get_error, NULL,
     PyDoc_STR("The first exception of keep, schedule or a handler."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Session(path=None, *, max_mb=64, timing=True, calls=1, fold=True,\n"
     "        prefixes=(), rank=0, world=1, keep=None, schedule=None,\n"
     "        on_change=None, on_ready=None, timeline=None, "
     "folder=None, notebook=False, c_calls=False, on_site=None, "
     "step_of=None, budget=(0.0, 0.0))\n--\n\n"
     "One recording session."},
    {Py_tp_new, session_new},
    {Py_tp_traverse, session_traverse},
    {Py_tp_clear, session_clear},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec fd_session_spec = {
    .name = "fastdispatch._core.Session",
    .basicsize = sizeof(session_object),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
