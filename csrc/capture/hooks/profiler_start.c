#include "capture/hooks/profiler_start.h"

/* sys.setprofile and its form for all threads; NULL: replaced by the
 * program. */
static const PyMethodDef *setters[2];

/* While one of them runs, the thread has this object in place of a profiler's.
 * The setter releases it after it has stored the new function: that is the
 * moment to stand in front of the function for one event. */
static PyObject *placed; /* borrowed from the thread; NULL: none */

/* The profile function behind skip_event. */
static _Thread_local Py_tracefunc skipped;

static bool
sets_profiler(PyObject *callable)
{
    const PyMethodDef *method = PyCFunction_Check(callable)
                                  ? ((PyCFunctionObject *)callable)->m_ml
                                  : NULL;
    return method != NULL && (method == setters[0] || method == setters[1]);
}

static int
skip_event(PyObject *object, PyFrameObject *frame, int what, PyObject *value)
{
    Py_tracefunc function = skipped;
    PyThreadState_Get()->c_profilefunc = function;
    bool skips = what == PyTrace_C_RETURN && sets_profiler(value);
    return skips ? 0 : function(object, frame, what, value);
}

static void
placed_released(PyObject *self)
{
    PyThreadState *state = PyThreadState_Get();
    if (state->c_profilefunc != NULL && state->c_profileobj != self) {
        skipped = state->c_profilefunc;
        state->c_profilefunc = skip_event;
    }
    placed = NULL;
    PyObject_Free(self);
}

static PyTypeObject placed_type = {
    PyVarObject_HEAD_INIT(NULL, 0) /* */
        .tp_name = "fastdispatch.profiler",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = placed_released,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

static const PyMethodDef *
setter_named(const char *name)
{
    PyObject *function = PySys_GetObject(name); /* borrowed */
    return function != NULL && PyCFunction_Check(function)
             ? ((PyCFunctionObject *)function)->m_ml
             : NULL;
}

void
fd_profiler_start_find(void)
{
    PyObject *pending = fd_take_exception();
    bool ready = PyType_Ready(&placed_type) == 0;
    setters[0] = ready ? setter_named("setprofile") : NULL;
    setters[1] = ready ? setter_named("_setprofileallthreads") : NULL;
    fd_put_exception(pending);
}

/* Return whether a thread has a profile function: then all calls are
 * monitored without the recorder, too. */
static bool
is_profiled(const PyThreadState *state)
{
    PyThreadState *at = PyInterpreterState_ThreadHead(state->interp);
    while (at != NULL && at->c_profilefunc == NULL) {
        at = PyThreadState_Next(at);
    }
    return at != NULL;
}

void
fd_profiler_start_called(PyObject *callable)
{
    if (!sets_profiler(callable)) {
        return;
    }
    PyThreadState *state = PyThreadState_Get();
    if (placed != NULL || state->c_profileobj != NULL || is_profiled(state)) {
        return;
    }
    placed = PyObject_Malloc(sizeof *placed);
    if (placed != NULL) {
        state->c_profileobj = PyObject_Init(placed, &placed_type);
    }
}

void
fd_profiler_start_returned(void)
{
    PyThreadState *state = placed != NULL ? PyThreadState_Get() : NULL;
    if (state != NULL && state->c_profileobj == placed) {
        state->c_profileobj = NULL; /* the setter has raised */
        Py_DECREF(placed);
    }
}
