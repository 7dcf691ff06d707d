#include "capture/hooks/monitor.h"

#include "capture/engines/engine_pipeline.h"
#include "capture/frames/python_calls.h"
#include "capture/hooks/step_calls.h"
#include "capture/operators/nvtx.h"
#include "capture/operators/records.h"
#include "capture/python/monitoring.h"
#include "capture/timers/call_timers.h"

#if PY_VERSION_HEX >= 0x030C0000 /* sys.monitoring */

static int tool = -1;
static fd_hook purpose;
static bool paused; /* has the id, without events */

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
    if (known->special != 0 || fd_tree_depth(tree) == tree->record->capacity
        || fd_timers_frames(&thread->session->timers)) {
        return false;
    }
    fd_context *context =
        fd_calls_repeated(tree, known, fd_receiver_type(known, frame));
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
    if ((special & FD_CODE_PLUMBING) == 0 && !repeat(thread, known, frame)) {
        if ((special & FD_CODE_EVENTS) != 0) {
            fd_events_called(thread, special);
        }
        uint32_t depth = fd_calls_enter(thread, code, known, frame);
        if (depth != FD_NO_ENTRY
            && fd_timers_frames(&thread->session->timers)) {
            fd_timers_update_stream(thread);
            fd_timers_begin(thread, 0);
        }
    }
    thread->frame = frame;
    if ((special & FD_CODE_MAKES_NODE) != 0) {
        fd_records_makes_node(thread);
    }
    if ((special & FD_CODE_JOB) != 0) {
        fd_pipeline_entered(thread, known->jobs, frame);
    }
}

static void
leave(fd_thread *thread, const fd_frame *frame, fd_frame *caller)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    if (depth > 0 && tree->stack[depth - 1].owner == (uintptr_t)frame) {
        fd_thread_end_timers(thread, depth - 1, false);
        tick(thread);
        fd_tree_close(tree, depth - 1);
        thread->frame = caller;
    }
    else {
        fd_calls_leave(thread, depth, frame, caller);
    }
    if (fd_timers_frames(&thread->session->timers)) {
        fd_timers_update_stream(thread);
    }
}

/* The frame still has its arguments. */
static void
handle_nvtx(fd_thread *thread, const fd_frame *frame, PyObject *result)
{
    fd_nvtx_call call = fd_nvtx_called(frame);
    fd_nvtx_returned(thread, &call, result);
    Py_XDECREF(call.argument);
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
        fd_thread *thread = fd_calls_monitored(state, caller, frame);
        if (thread != NULL) {
            enter(thread, code, frame);
        }
    }
    Py_RETURN_NONE;
}

/* After the entry was closed: handling the event may end the recording. */
static void
handle_return(uint16_t special)
{
    fd_thread *thread = fd_thread_get();
    if (thread != NULL && !thread->busy) {
        fd_events_returned(thread, special);
    }
}

/* The end of a recorded call; `result` NULL: by an exception. */
static void
left(PyThreadState *state, fd_frame *frame, uint16_t special, PyObject *result)
{
    fd_frame *caller = fd_frame_python(frame->previous);
    fd_thread *thread = fd_calls_monitored(state, frame, NULL);
    if (thread == NULL) {
        return;
    }
    if ((special & FD_CODE_JOB) != 0) {
        fd_pipeline_left(thread, frame, result);
    }
    leave(thread, frame, caller);
    if ((special & FD_CODE_NVTX) != 0 && result != NULL) {
        handle_nvtx(thread, frame, result);
    }
}

static void
ended(PyObject *code, PyObject *result)
{
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    const fd_code *known = fd_code_known((const PyCodeObject *)code);
    uint16_t special = known != NULL ? known->special : 0;
    if (!unmute(frame) && purpose != FD_HOOK_WATCHING) {
        left(state, frame, special, result);
    }
    if ((special & FD_CODE_EVENTS) != 0) {
        handle_return(special);
    }
}

static PyObject *
on_leave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    ended(args[0], args[2]);
    Py_RETURN_NONE;
}

static PyObject *
on_unwind(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    (void)count;
    ended(args[0], NULL);
    Py_RETURN_NONE;
}

static PyMethodDef on_enter_method = {
    "on_enter", (PyCFunction)(void (*)(void))on_enter, METH_FASTCALL, NULL};
static PyMethodDef on_leave_method = {
    "on_leave", (PyCFunction)(void (*)(void))on_leave, METH_FASTCALL, NULL};

static PyMethodDef on_unwind_method = {
    "on_unwind", (PyCFunction)(void (*)(void))on_unwind, METH_FASTCALL, NULL};

static fd_monitored events[] = {
    {"PY_START", &on_enter_method, false, 0},
    {"PY_RESUME", &on_enter_method, false, 0},
    {"PY_THROW", &on_enter_method, false, 0},
    {"PY_RETURN", &on_leave_method, false, 0},
    {"PY_YIELD", &on_leave_method, false, 0},
    {"PY_UNWIND", &on_unwind_method, false, 0},
};
enum { EVENTS = sizeof events / sizeof *events };

fd_status
fd_monitor_install(fd_hook hook, fd_error *error)
{
    purpose = hook;
    if (tool < 0) {
        tool = fd_monitoring_open(events, EVENTS, error);
        paused = false;
        return tool < 0 ? FD_ECONFLICT : FD_OK;
    }
    paused = paused && !fd_monitoring_switch(tool, events, EVENTS, true);
    return paused ? fd_fail(error, FD_ENOMEM, "out of memory") : FD_OK;
}

void
fd_monitor_pause(void)
{
    paused = tool >= 0 && fd_monitoring_switch(tool, events, EVENTS, false);
}

void
fd_monitor_remove(void)
{
    if (tool >= 0) {
        fd_monitoring_close(tool, events, EVENTS);
        tool = -1;
    }
}

#else

fd_status
fd_monitor_install(fd_hook hook, fd_error *error)
{
    (void)hook;
    return fd_fail(error, FD_EINVAL,
                   "calls='monitor' needs Python 3.12 or later: use"
                   " calls='frame'");
}

void
fd_monitor_pause(void)
{
}

void
fd_monitor_remove(void)
{
}

#endif
