#include "capture/monitor.h"

#include "capture/calls.h"
#include "capture/events.h"
#include "capture/records.h"

#if PY_VERSION_HEX >= 0x030C0000 /* sys.monitoring */

/* sys.monitoring calls back without a pointer of ours. */
static int tool = -1;
static fd_hook purpose;

static void
tick(const fd_thread *thread)
{
    if (thread->session->timed) {
        fd_tree_tick(thread->tree, fd_clock_ticks());
    }
}

/* The shortest path, as in frame_hook.c; false: not a plain repetition. */
static bool
repeat(fd_thread *thread, const fd_code *known, fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    if (known->special != 0 || fd_tree_depth(tree) == tree->record->capacity) {
        return false;
    }
    fd_context *context = fd_calls_repeated(tree, known,
                                            fd_receiver_type(known, frame));
    if (context == NULL) {
        return false;
    }
    tick(thread);
    uint32_t id = fd_tree_id(tree, context);
    tree->current->last_child = id;
    context->calls++;
    fd_tree_push(tree, context, id, frame, FD_ENTRY_FRAME);
    return true;
}

static void
enter(fd_thread *thread, PyCodeObject *code, fd_frame *frame)
{
    const fd_code *known = fd_code_of(thread, code);
    if (known == NULL) {
        return;
    }
    uint16_t special = known->special;
    if ((special & FD_CODE_MUTED) != 0) {
        thread->muted = frame;
        thread->busy = true;
        thread->generation = 0;
        return;
    }
    if ((special & FD_CODE_PLUMBING) == 0
        && !repeat(thread, known, frame)) {
        if ((special & FD_CODE_EVENTS) != 0) {
            fd_events_called(thread, special);
        }
        fd_calls_enter(thread, code, known, frame);
    }
    thread->frame = frame;
    if ((special & FD_CODE_MAKES_NODE) != 0) {
        fd_records_makes_node(thread);
    }
}

static void
leave(fd_thread *thread, const fd_frame *frame, fd_frame *caller)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    if (depth > 0 && tree->stack[depth - 1].owner == (uintptr_t)frame) {
        tick(thread);
        fd_tree_truncate(tree, depth - 1);
        thread->frame = caller;
    }
    else {
        fd_calls_leave(thread, depth, frame, caller);
    }
}

/* Whether this is the end of the muted frame. */
static bool
unmute(const fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL || thread->muted != frame) {
        return false;
    }
    thread->muted = NULL;
    thread->busy = false;
    return true;
}

/* Ready to record this event of `frame`; NULL: leave it out. */
static fd_thread *
ready(PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL && thread->generation == fd_process_generation()
        && (thread->frame == caller || thread->frame == frame)) {
        return thread;
    }
    return fd_calls_prepare(state, caller, frame) == FD_RECORD
               ? fd_thread_self
               : NULL;
}

static PyObject *
on_enter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    fd_frame *caller = fd_frame_python(frame->previous);
    PyCodeObject *code = (PyCodeObject *)args[0];
    if (purpose != FD_HOOK_WATCHING) {
        fd_thread *thread = ready(state, caller, frame);
        if (thread != NULL) {
            enter(thread, code, frame);
        }
    }
    Py_RETURN_NONE;
}

/* The call is over for the recording: what it means may end that. */
static void
tell_return(uint16_t special)
{
    fd_thread *thread = fd_thread_get();
    if (thread != NULL && !thread->busy) {
        fd_events_returned(thread, special);
    }
}

static PyObject *
on_leave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    fd_frame *caller = fd_frame_python(frame->previous);
    if (!unmute(frame) && purpose != FD_HOOK_WATCHING) {
        fd_thread *thread = ready(state, frame, NULL);
        if (thread != NULL) {
            leave(thread, frame, caller);
        }
    }
    const fd_code *known = fd_code_known((const PyCodeObject *)args[0]);
    if (known != NULL && (known->special & FD_CODE_EVENTS) != 0) {
        tell_return(known->special);
    }
    Py_RETURN_NONE;
}

static PyMethodDef callbacks[] = {
    {"on_enter", (PyCFunction)(void (*)(void))on_enter, METH_FASTCALL, NULL},
    {"on_leave", (PyCFunction)(void (*)(void))on_leave, METH_FASTCALL, NULL},
};

/* Names in sys.monitoring.events, with the callback for each. */
static const struct {
    const char *name;
    int callback;
} events[] = {
    {"PY_START", 0},  {"PY_RESUME", 0}, {"PY_THROW", 0},
    {"PY_RETURN", 1}, {"PY_YIELD", 1},  {"PY_UNWIND", 1},
};

static PyObject *
monitoring(void)
{
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */
    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
    }
    return module;
}

static int
done(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* The ids that no standard tool has, then the profiler's. */
static int
claim_tool(PyObject *module)
{
    static const int ids[] = {3, 4, 2};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (done(PyObject_CallMethod(module, "use_tool_id", "is", ids[i],
                                     "fastdispatch")) == 0) {
            return ids[i];
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "no free sys.monitoring tool id: use calls='frame'");
    return -1;
}

static int
register_events(PyObject *module, int id)
{
    PyObject *names = PyObject_GetAttrString(module, "events");
    long mask = 0;
    int result = names == NULL ? -1 : 0;
    for (size_t i = 0; i < sizeof events / sizeof *events && result == 0;
         i++) {
        PyObject *event = PyObject_GetAttrString(names, events[i].name);
        PyObject *callback = PyCFunction_New(&callbacks[events[i].callback],
                                             NULL);
        if (event == NULL || callback == NULL) {
            result = -1;
        }
        else {
            mask |= PyLong_AsLong(event);
            result = done(PyObject_CallMethod(module, "register_callback",
                                              "iOO", id, event, callback));
        }
        Py_XDECREF(event);
        Py_XDECREF(callback);
    }
    Py_XDECREF(names);
    return result < 0 ? -1
                      : done(PyObject_CallMethod(module, "set_events", "il",
                                                 id, mask));
}

int
fd_monitor_install(fd_hook hook)
{
    purpose = hook;
    if (tool >= 0) {
        return 0;
    }
    PyObject *module = monitoring();
    int id = module == NULL ? -1 : claim_tool(module);
    if (id < 0) {
        return -1;
    }
    tool = id;
    if (register_events(module, id) < 0) {
        PyObject *error = fd_take_exception();
        fd_monitor_remove();
        Py_XDECREF(error);
        PyErr_SetString(PyExc_RuntimeError,
                        "sys.monitoring refused our callbacks");
        return -1;
    }
    return 0;
}

void
fd_monitor_remove(void)
{
    PyObject *module = tool >= 0 ? monitoring() : NULL;
    if (module != NULL) {
        done(PyObject_CallMethod(module, "set_events", "ii", tool, 0));
        PyErr_Clear();
        done(PyObject_CallMethod(module, "free_tool_id", "i", tool));
        PyErr_Clear();
    }
    tool = -1;
}

#else

int
fd_monitor_install(fd_hook hook)
{
    (void)hook;
    PyErr_SetString(PyExc_RuntimeError,
                    "sys.monitoring needs Python 3.12 or later");
    return -1;
}

void
fd_monitor_remove(void)
{
}

#endif
