/* fastdispatch._core.Plan: what a schedule makes each stage do. */
#include "module/pipeline/plan_type.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/schedules/plan_text.h"

typedef struct plan_object {
    PyObject_HEAD fd_plan plan; /* its own */
} plan_object;

const fd_plan *
fd_plan_of(PyObject *self)
{
    return &((plan_object *)self)->plan;
}

static bool
take_counts(fd_plan_request *request, const Py_ssize_t *counts)
{
    uint32_t *const fields[] = {&request->stages, &request->micro_batches,
                                &request->chunks, &request->group};
    for (size_t i = 0; i < 4; i++) {
        if (counts[i] < 0 || counts[i] > INT32_MAX) {
            PyErr_Format(fd_value_error(), "%zd is out of range", counts[i]);
            return false;
        }
        *fields[i] = (uint32_t)counts[i];
    }
    return true;
}

static PyObject *
plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"schedule", "stages", "micro_batches",
                            "chunks",   "group",  NULL};
    const char *name;
    Py_ssize_t counts[4] = {0, 0, 0, 0};
    fd_plan_request request;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "snn|nn:Plan", names, &name,
                                     &counts[0], &counts[1], &counts[2],
                                     &counts[3])
        || !take_counts(&request, counts)) {
        return NULL;
    }
    request.schedule = fd_schedule_named(name);
    if (request.schedule == FD_SCHEDULES) {
        PyErr_Format(fd_value_error(), "schedule '%s' is unknown", name);
        return NULL;
    }
    plan_object *self = (plan_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_error error = {""};
    fd_status status = fd_plan_make(&self->plan, &request, &error);
    if (status != FD_OK) {
        Py_DECREF(self);
        return fd_raise(PyType_GetModule(type), status, &error);
    }
    return (PyObject *)self;
}

static void
plan_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    fd_plan_clear(&((plan_object *)self)->plan);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *
fd_plan_in_flights(const fd_plan *plan)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < plan->stages; i++) {
        list = fd_list_with(
            list, PyLong_FromUnsignedLong(fd_plan_in_flight(plan, i)));
    }
    return list;
}

static PyObject *
plan_numbers(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_plan *plan = fd_plan_of(self);
    return Py_BuildValue(
        "{s:s,s:I,s:I,s:I,s:I,s:I,s:N,s:N}", "schedule",
        fd_schedule_name(plan->schedule), "stages", (unsigned)plan->stages,
        "micro_batches", (unsigned)plan->micro_batches, "chunks",
        (unsigned)plan->chunks, "group", (unsigned)plan->group, "steps",
        (unsigned)plan->steps, "buffers",
        fd_number_list(plan->buffers, plan->stages), "in_flight",
        fd_plan_in_flights(plan));
}

/* Whether a stage is one; else an exception. */
static bool
stage_fits(const fd_plan *plan, Py_ssize_t stage)
{
    if (stage >= 0 && stage < (Py_ssize_t)plan->stages) {
        return true;
    }
    PyErr_Format(fd_index_error(), "stage %zd: the plan has %u stages", stage,
                 (unsigned)plan->stages);
    return false;
}

static PyObject *
text_object(fd_buffer *text)
{
    PyObject *object =
        text->status == FD_OK
            ? PyUnicode_FromStringAndSize(text->bytes, (Py_ssize_t)text->size)
            : PyErr_NoMemory();
    fd_buffer_clear(text);
    return object;
}

static PyObject *
plan_table(PyObject *self, PyObject *argument)
{
    Py_ssize_t stage = PyNumber_AsSsize_t(argument, fd_index_error());
    const fd_plan *plan = fd_plan_of(self);
    if (PyErr_Occurred() != NULL || !stage_fits(plan, stage)) {
        return NULL;
    }
    fd_buffer text = {.bytes = NULL};
    fd_plan_table(plan, (uint32_t)stage, &text);
    return text_object(&text);
}

static PyObject *
plan_json(PyObject *self, PyObject *argument)
{
    const char *figures = PyUnicode_AsUTF8(argument);
    if (figures == NULL) {
        return NULL;
    }
    fd_buffer text = {.bytes = NULL};
    fd_plan_json(fd_plan_of(self), figures, &text);
    return text_object(&text);
}

static PyObject *
plan_train_step(PyObject *self, PyObject *args)
{
    unsigned stage;
    unsigned step;
    const fd_plan *plan = fd_plan_of(self);
    if (!PyArg_ParseTuple(args, "II:train_step", &stage, &step)
        || !stage_fits(plan, (Py_ssize_t)stage)) {
        return NULL;
    }
    fd_train_step about = fd_plan_train_step(plan->stages, stage, step);
    return Py_BuildValue("iN", (int)about.micro_batch,
                         PyBool_FromLong(about.forward));
}

typedef PyObject *(*cell)(const fd_plan *plan, const fd_plan_job *job);

static PyObject *
cell_stage(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyLong_FromLong(job->stage);
}

static PyObject *
cell_step(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyLong_FromLong(job->step);
}

static PyObject *
cell_kind(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyUnicode_InternFromString(
        fd_job_kind_name((fd_job_kind)job->kind));
}

static PyObject *
cell_micro_batch(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyLong_FromLong(job->micro_batch);
}

static PyObject *
cell_buffer(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyLong_FromLong(job->buffer);
}

static PyObject *
cell_holder(const fd_plan *plan, const fd_plan_job *job)
{
    return PyLong_FromUnsignedLong(fd_plan_holder(plan, (uint32_t)job->stage));
}

static PyObject *
cell_chunk(const fd_plan *plan, const fd_plan_job *job)
{
    return PyLong_FromLong(job->stage / (long)plan->stages);
}

static PyObject *
cell_peer(const fd_plan *plan, const fd_plan_job *job)
{
    (void)plan;
    return PyLong_FromLong(job->peer);
}

static PyObject *
column(const fd_plan *plan, cell make)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < plan->jobs.count; i++) {
        list = fd_list_with(list, make(plan, &plan->jobs.list[i]));
    }
    return list;
}

static PyObject *
plan_jobs(PyObject *self, PyObject *unused)
{
    static const struct {
        const char *name;
        cell make;
    } columns[] = {
        {"stage", cell_stage},   {"step", cell_step},
        {"kind", cell_kind},     {"mb", cell_micro_batch},
        {"buffer", cell_buffer}, {"rank", cell_holder},
        {"chunk", cell_chunk},   {"peer", cell_peer},
    };
    (void)unused;
    PyObject *table = PyDict_New();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        table = fd_columns_with(
            table, columns[i].name,
            table == NULL ? NULL : column(fd_plan_of(self), columns[i].make));
    }
    return table;
}

static PyMethodDef methods[] = {
    {"numbers", plan_numbers, METH_NOARGS,
     PyDoc_STR("numbers($self, /)\n--\n\nSizes, buffers, most in flight.")},
    {"table", plan_table, METH_O,
     PyDoc_STR("table($self, stage, /)\n--\n\nA stage on one line.")},
    {"jobs", plan_jobs, METH_NOARGS,
     PyDoc_STR("jobs($self, /)\n--\n\nColumns, one row per job.")},
    {"json", plan_json, METH_O,
     PyDoc_STR("json($self, figures, /)\n--\n\nThe document.")},
    {"train_step", plan_train_step, METH_VARARGS,
     PyDoc_STR("train_step($self, stage, step, /)\n--\n\n"
               "A step of DeepSpeed's TrainSchedule.")},
    {"replay", (PyCFunction)(void (*)(void))fd_plan_replay,
     METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("replay($self, prices, *, blocking=False, times=False)\n--\n\n"
               "Simulate the plan with given times.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Plan(schedule, stages, micro_batches, chunks=0, group=0)\n"
                "--\n\nThe jobs of each stage under a schedule."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "fastdispatch._core.Plan",
    .basicsize = sizeof(plan_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int
fd_plan_type_init(PyObject *module)
{
    fd_module_state *state = fd_module_state_of(module);
    state->plan =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->plan == NULL ? -1 : PyModule_AddType(module, state->plan);
}
