/* fastdispatch._core.Plan: the jobs of each stage according to a schedule. */
#include "module/pipeline/plan_type.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "module/state.h"
#include "pipeline/schedules/plan_text.h"

typedef struct plan_object {
    PyObject_HEAD fd_plan plan; /* owned */
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
    return fd_new_or_raise(type, self, status, &error);
}

static void
plan_dealloc(PyObject *self)
{
    fd_plan_clear(&((plan_object *)self)->plan);
    fd_object_free(self);
}

static PyObject *
flight_list(const fd_plan *plan)
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
        "{s:s,s:I,s:I,s:I,s:I,s:I,s:O,s:N,s:N,s:N}", "schedule",
        fd_schedule_name(plan->schedule), "stages", (unsigned)plan->stages,
        "micro_batches", (unsigned)plan->micro_batches, "chunks",
        (unsigned)plan->chunks, "group", (unsigned)plan->group, "steps",
        (unsigned)plan->steps, "waits",
        plan->waiting == FD_WAIT_NEVER ? Py_False : Py_True, "first",
        fd_number_list(plan->first, plan->stages + 1), "buffers",
        fd_number_list(plan->buffers, plan->stages), "in_flight",
        flight_list(plan));
}

/* Return whether the plan has this stage, else raise an exception. */
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
plan_table(PyObject *self, PyObject *argument)
{
    Py_ssize_t stage = PyNumber_AsSsize_t(argument, fd_index_error());
    const fd_plan *plan = fd_plan_of(self);
    if (PyErr_Occurred() != NULL || !stage_fits(plan, stage)) {
        return NULL;
    }
    fd_buffer text = {.bytes = NULL};
    fd_plan_table(plan, (uint32_t)stage, &text);
    return fd_buffer_object(&text);
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

static PyObject *
plan_jobs(PyObject *self, PyObject *unused)
{
    static const fd_column job_columns[] = {
        FD_COLUMN(fd_plan_job, "stage", I16, stage),
        FD_COLUMN(fd_plan_job, "step", I32, step),
        FD_COLUMN(fd_plan_job, "mb", I32, micro_batch),
        FD_COLUMN(fd_plan_job, "buffer", I32, buffer),
        FD_COLUMN(fd_plan_job, "peer", I16, peer),
        FD_COLUMN(fd_plan_job, "kind", U8, kind),
    };
    static const fd_table table =
        FD_TABLE("jobs", job_columns, fd_plan_job, false);
    (void)unused;
    const fd_plan *plan = fd_plan_of(self);
    return fd_arrays(&table, plan->jobs.list, plan->jobs.count);
}

static PyMethodDef methods[] = {
    {"numbers", plan_numbers, METH_NOARGS,
     PyDoc_STR(
         "numbers($self, /)\n--\n\nSizes, places, buffers, most in flight.")},
    {"table", plan_table, METH_O,
     PyDoc_STR("table($self, stage, /)\n--\n\nA stage on one line.")},
    {"jobs", plan_jobs, METH_NOARGS,
     PyDoc_STR("jobs($self, /)\n--\n\nColumns, one row per job.")},
    {"train_step", plan_train_step, METH_VARARGS,
     PyDoc_STR("train_step($self, stage, step, /)\n--\n\n"
               "A step of DeepSpeed's TrainSchedule.")},
    FD_KEYWORD_METHOD(
        "replay", fd_plan_replay,
        "replay($self, times, *, posted=None, blocking=False, jobs=False)\n"
        "--\n\nSimulate the plan with given times."),
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

PyType_Spec fd_plan_spec = FD_TYPE("Plan", plan_object, slots);
