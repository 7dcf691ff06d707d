#include "capture/hooks/c_calls.h"

#include "capture/frames/c_function_nodes.h"
#include "capture/frames/python_calls.h"
#include "capture/operators/node_calls.h"
#include "capture/python/monitoring.h"
#include "capture/timers/call_timers.h"

/* Return the owner of the entry. A frame has at most one open call of a C
 * function. Frames have even addresses, so the odd address is unique. */
static const void *
owner_of(const fd_frame *frame)
{
    return (const char *)frame + 1;
}

/* Return the index of the entry of the call made by `frame`, or -1. */
static int64_t
find_open(const fd_tree *tree, const fd_frame *frame)
{
    const void *owner = owner_of(frame);
    int64_t at = (int64_t)fd_tree_depth(tree) - 1;
    while (at >= 0 && tree->stack[at].owner != (uintptr_t)owner) {
        if (tree->stack[at].owner == (uintptr_t)frame) {
            return -1;
        }
        at--;
    }
    return at;
}

static void
close_call(fd_thread *thread, const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    int64_t at = find_open(tree, frame);
    if (at < 0) {
        return; /* no entry, or it was closed with another greenlet */
    }
    fd_thread_tick(thread, thread->session->timed);
    if (at == (int64_t)fd_tree_depth(tree) - 1) {
        fd_tree_close(tree, (uint32_t)at);
    }
    else {
        fd_thread_end_timers(thread, (uint32_t)at, true);
        fd_stack_close(tree, (uint32_t)at);
    }
}

/* Return whether calls of the frame are recorded; those of the recorder are
 * not. */
static bool
is_recorded(const fd_frame *frame)
{
    const fd_code *known = fd_code_known(fd_frame_code(frame));
    return known == NULL
        || (known->special & (FD_CODE_PLUMBING | FD_CODE_MUTED)) == 0;
}

static void
begin_call(PyThreadState *state, const fd_c_target *target)
{
    fd_frame *frame = fd_frame_current(state);
    fd_thread *thread = fd_calls_monitored(state, frame, NULL);
    uint32_t node;
    if (thread == NULL || !is_recorded(frame)
        || !fd_c_function_node(thread, target, &node)) {
        return;
    }
    fd_tree *tree = thread->tree;
    fd_thread_tick(thread, thread->session->timed);
    fd_node_push(tree, fd_node_enter(tree, node, 0), owner_of(frame),
                 FD_ENTRY_FRAME);
}

static void
end_call(PyThreadState *state)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL && !thread->busy && thread->tree != NULL
        && thread->beyond == 0 && thread->synced == fd_process_generation()
        && thread->serial == fd_process_serial()) {
        close_call(thread, fd_frame_current(state));
    }
}

/* The call by which the program sets a profile function. CPython reports its
 * end to the new function, which does not happen in a plain run: the call was
 * not monitored when it began. The following skips that one event. */

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

/* Find the functions of sys that set a profile function. */
static void
find_setters(void)
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

static void
setter_called(PyObject *callable)
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

static void
setter_returned(void)
{
    PyThreadState *state = placed != NULL ? PyThreadState_Get() : NULL;
    if (state != NULL && state->c_profileobj == placed) {
        state->c_profileobj = NULL; /* the setter has raised */
        Py_DECREF(placed);
    }
}

static int tool = -1;
static PyObject *missing; /* borrowed: sys.monitoring.MISSING, never freed */

/* args: code, offset, callable, first argument. */
static PyObject *
on_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)names;
    fd_c_target target;
    PyObject *first = count > 3 && args[3] != missing ? args[3] : NULL;
    if (fd_c_target_of(args[2], first, &target)) {
        begin_call(PyThreadState_Get(), &target);
    }
    setter_called(args[2]);
    Py_RETURN_NONE;
}

/* Also reports ends of calls that were not recorded: calls of classes. */
FD_MONITOR_CALLBACK(on_end)
{
    (void)args;
    end_call(PyThreadState_Get());
    setter_returned();
    Py_RETURN_NONE;
}

static fd_monitored events[] = {
    FD_MONITORED("CALL", on_call, false),
    FD_MONITORED("C_RETURN", on_end, false),
    FD_MONITORED("C_RAISE", on_end, false),
};
static const fd_monitoring_use use = {"detail='c_calls'", "omit detail"};
enum { EVENTS = sizeof events / sizeof *events };

fd_status
fd_c_calls_open(fd_session *session, fd_error *error)
{
    tool = fd_monitoring_open(use, events, EVENTS, error);
    if (tool < 0) {
        return FD_ECONFLICT;
    }
    missing = fd_monitoring_constant("MISSING");
    find_setters();
    fd_c_calls_switch(session, false);
    return FD_OK;
}

void
fd_c_calls_switch(fd_session *session, bool on)
{
    if (tool >= 0 && !fd_monitoring_switch(tool, events, EVENTS, on)) {
        fd_file_count(&session->recording->file, FD_COUNT_HOOK_LOST);
    }
}

void
fd_c_calls_close(void)
{
    fd_monitoring_close(&tool, events, EVENTS);
}
