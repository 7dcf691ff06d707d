/* fastdispatch._core.job: a unit of a pipeline schedule. */
#include "capture/engines/pipeline_jobs.h"
#include "capture/frames/python_calls.h"
#include "capture/python/utf8_text.h"
#include "module/errors.h"
#include "module/state.h"

/* mb, stage, chunk, peer */
enum { NUMBERS = 4 };

typedef struct job_object {
    PyObject_HEAD PyObject *kind; /* owned str */
    uint32_t numbers[NUMBERS];    /* plus 1; 0: not given */
} job_object;

static bool
take_number(PyObject *value, const char *name, uint32_t *to)
{
    *to = 0;
    if (value == Py_None) {
        return true;
    }
    /* clipped to the range */
    Py_ssize_t number = PyNumber_AsSsize_t(value, NULL);
    if (number == -1 && PyErr_Occurred()) {
        return false;
    }
    if (number < 0 || number >= INT32_MAX) {
        PyErr_Format(fd_value_error(),
                     "job: %s=%zd: a number from 0 to 2147483646", name,
                     number);
        return false;
    }
    *to = (uint32_t)number + 1;
    return true;
}

static PyObject *
job_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"kind", "mb", "stage", "chunk", "peer", NULL};
    PyObject *kind;
    PyObject *values[NUMBERS] = {Py_None, Py_None, Py_None, Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|OOOO:job", names, &kind,
                                     &values[0], &values[1], &values[2],
                                     &values[3])) {
        return NULL;
    }
    uint32_t numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        if (!take_number(values[i], names[i + 1], &numbers[i])) {
            return NULL;
        }
    }
    PyObject *text = fd_utf8_text(kind);
    job_object *self =
        text == NULL ? NULL : (job_object *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->kind = text;
        memcpy(self->numbers, numbers, sizeof numbers);
        return (PyObject *)self;
    }
    Py_XDECREF(text);
    return NULL;
}

static void
job_dealloc(PyObject *self)
{
    Py_XDECREF(((job_object *)self)->kind);
    fd_object_free(self);
}

static PyObject *
job_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    const job_object *job = (const job_object *)self;
    fd_thread *thread = fd_calls_ready();
    if (thread != NULL) {
        const char *kind = PyUnicode_AsUTF8(job->kind);
        fd_job what = {.micro_batch = job->numbers[0],
                       .stage = job->numbers[1],
                       .chunk = job->numbers[2],
                       .peer = job->numbers[3]};
        fd_job_start(thread, kind, &what, self, thread->session->timed);
    }
    return Py_NewRef(self);
}

static PyObject *
job_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    fd_thread *thread = fd_calls_ready();
    if (thread != NULL) {
        fd_job_end(thread, self, thread->session->timed);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__enter__", job_enter, METH_NOARGS,
     PyDoc_STR("__enter__($self, /)\n--\n\nThe job begins.")},
    {"__exit__", (PyCFunction)(void (*)(void))job_exit, METH_FASTCALL,
     PyDoc_STR("__exit__($self, /, *unused)\n--\n\nThe job ends.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "job(kind, mb=None, stage=None, chunk=None, peer=None)\n--\n\n"
     "A context manager: its body is one unit of a pipeline\n"
     "schedule. Kinds: load, forward, backward, send, receive, reduce,\n"
     "optimizer, and any other text. mb is the micro-batch, peer the other\n"
     "stage or rank. Costs one function call when nothing records."},
    {Py_tp_new, job_new},
    {Py_tp_dealloc, job_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_job_spec = FD_TYPE("job", job_object, slots);
