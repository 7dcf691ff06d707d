#include "capture/hooks/monitor.h"

#include "capture/engines/engine_pipeline.h"
#include "capture/hooks/plain_calls.h"
#include "capture/hooks/step_calls.h"
#include "capture/operators/ranges.h"
#include "capture/python/monitoring.h"
#include "capture/timers/call_timers.h"

#if PY_VERSION_HEX >= 0x030C0000 /* sys.monitoring */

static int tool = -1;
static fd_hook purpose;
static bool paused; /* whether the tool id is kept without events */

/* No event reports the call that creates a generator: count it when the
 * generator starts, without time. */
static void
count_start(fd_tree *tree, uint32_t depth)
{
    const fd_entry *entry = &tree->stack[depth];
    if ((entry->flags & FD_ENTRY_CONTRACTED) == 0) {
        fd_context *context = fd_tree_context(tree, entry->context);
        context->calls++;
        if (tree->events.chunk != NULL) {
            fd_tree_called(tree, entry, context, FD_TIMELINE_PYTHON);
        }
    }
}

/* Count the entry at `depth`, a resume for fd_calls_enter, as a call. */
static void
count_as_call(fd_tree *tree, uint32_t depth)
{
    const fd_entry *entry = &tree->stack[depth];
    if ((entry->flags & FD_ENTRY_CONTRACTED) == 0) {
        fd_context *context = fd_tree_context(tree, entry->context);
        context->resumes--;
        context->calls++;
    }
}

void
fd_monitor_mute(fd_thread *thread, const fd_frame *frame)
{
    thread->muted = frame;
    thread->busy = true;
    thread->generation = 0;
}

static void
enter_frame(fd_thread *thread, PyCodeObject *code, fd_frame *frame,
            bool starts)
{
    const fd_code *known = fd_code_of(thread, code);
    if (known == NULL) {
        return;
    }
    uint16_t special = known->special;
    if ((special & FD_CODE_MUTED) != 0) {
        fd_monitor_mute(thread, frame);
        return;
    }
    if ((special & FD_CODE_PLUMBING) == 0) {
        if ((special & FD_CODE_EVENTS) != 0) {
            fd_events_called(thread, special, frame,
                             fd_frame_python(frame->previous));
        }
        uint32_t generation = thread->synced;
        uint32_t depth = fd_calls_enter(thread, code, known, frame);
        if (fd_process_generation() != generation) {
            return; /* a filter stopped the recording */
        }
        if (starts && depth != FD_NO_ENTRY
            && (special & FD_CODE_GENERATOR) != 0) {
            count_start(thread->tree, depth);
        }
        if (depth != FD_NO_ENTRY) {
            fd_timers_entered(thread);
        }
    }
    thread->frame = frame;
    if ((special & FD_CODE_JOB) != 0) {
        fd_pipeline_entered(thread, known->jobs, frame);
    }
}

static void
leave_frame(fd_thread *thread, const fd_frame *frame, fd_frame *caller)
{
    const fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    bool topmost =
        depth > 0 && tree->stack[depth - 1].owner == (uintptr_t)frame;
    fd_calls_leave(thread, topmost ? depth - 1 : depth, frame, caller);
    fd_timers_left(thread);
}

/* Count the call that created a generator which never started, in the call
 * that released it. */
static void
count_unstarted(fd_frame *frame)
{
    PyObject *pending = fd_take_exception();
    fd_thread *thread = fd_calls_ready();
    PyCodeObject *code = fd_frame_code(frame);
    const fd_code *known = thread != NULL ? fd_code_of(thread, code) : NULL;
    if (known != NULL
        && (known->special & (FD_CODE_MUTED | FD_CODE_PLUMBING)) == 0) {
        const fd_frame *caller = thread->frame;
        uint32_t generation = thread->synced;
        uint32_t depth = fd_calls_enter(thread, code, known, frame);
        if (fd_process_generation() == generation) {
            if (depth != FD_NO_ENTRY) {
                count_as_call(thread->tree, depth);
            }
            fd_calls_leave(thread, depth, frame, caller);
        }
    }
    fd_put_exception(pending);
}

/* Generators and coroutines that never start are counted where CPython
 * finalizes them: finalize_generator stands in front of the finalizers of the
 * three types. */
static PyTypeObject *const types[] = {&PyGen_Type, &PyCoro_Type,
                                      &PyAsyncGen_Type};
enum { TYPES = sizeof types / sizeof *types };

/* Kept after the end: another tool may call the finalizer below. */
static destructor finalizers[TYPES];
static bool counting;

static destructor
finalizer_of(const PyTypeObject *type)
{
    int at = 0;
    while (at < TYPES - 1 && types[at] != type) {
        at++;
    }
    return finalizers[at];
}

/* The finalizer of the three types, in all interpreters. */
static void
finalize_generator(PyObject *generator)
{
    fd_frame *frame = fd_frame_unstarted(generator);
    if (frame != NULL && counting
        && PyInterpreterState_Get() == PyInterpreterState_Main()) {
        count_unstarted(frame);
    }
    finalizer_of(Py_TYPE(generator))(generator);
}

static void
watch_unstarted(void)
{
    counting = true;
    for (int i = 0; i < TYPES; i++) {
        if (types[i]->tp_finalize != finalize_generator) {
            finalizers[i] = types[i]->tp_finalize;
            types[i]->tp_finalize = finalize_generator;
        }
    }
}

/* Leave finalizers of another tool that stand in front in place. */
static void
ignore_unstarted(void)
{
    counting = false;
    for (int i = 0; i < TYPES; i++) {
        if (types[i]->tp_finalize == finalize_generator) {
            types[i]->tp_finalize = finalizers[i];
        }
    }
}

/* Read the arguments of an nvtx call at its end; the frame still has them. */
static void
handle_nvtx(fd_thread *thread, const fd_frame *frame, PyObject *result)
{
    fd_nvtx_call call = fd_nvtx_called(frame);
    fd_nvtx_returned(thread, &call, result);
    Py_XDECREF(call.argument);
}

bool
fd_monitor_unmute(const fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL || thread->muted != frame) {
        return false;
    }
    thread->muted = NULL;
    thread->busy = false;
    return true;
}

void
fd_monitor_returned(uint16_t special)
{
    fd_thread *thread = fd_thread_get();
    if (thread != NULL && !thread->busy) {
        fd_events_returned(thread, special);
    }
}

/* End a recorded call; `result` is NULL if it raised. */
static void
frame_left(PyThreadState *state, fd_frame *frame, uint16_t special,
           PyObject *result)
{
    fd_frame *caller = fd_frame_python(frame->previous);
    fd_thread *thread = fd_calls_ending(state, frame);
    if (thread == NULL) {
        return;
    }
    if ((special & FD_CODE_JOB) != 0) {
        fd_pipeline_left(thread, frame, result);
    }
    leave_frame(thread, frame, caller);
    if ((special & FD_CODE_NVTX) != 0 && result != NULL) {
        handle_nvtx(thread, frame, result);
    }
}

/* End a followed call. */
static void
followed_left(const fd_frame *frame, uint16_t special)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL || thread->busy || !fd_calls_is_following(thread)) {
        return;
    }
    const fd_frame *caller = fd_frame_python(frame->previous);
    if ((special & FD_CODE_PLUMBING) != 0) {
        thread->frame = caller;
        return;
    }
    fd_calls_unfollow(thread, frame, caller);
}

static void
call_ended(PyObject *code, PyObject *result)
{
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    const fd_code *known = fd_code_known((const PyCodeObject *)code);
    uint16_t special = known != NULL ? known->special : 0;
    if (purpose == FD_HOOK_FOLLOWING) {
        fd_monitor_unmute(frame);
        followed_left(frame, special);
    }
    else if (!fd_monitor_unmute(frame)) {
        frame_left(state, frame, special, result);
    }
    if ((special & FD_CODE_EVENTS) != 0) {
        fd_monitor_returned(special);
    }
}

/* In unrecorded steps. Return false if the call must be recorded. */
static bool
follow_call(PyThreadState *state, PyCodeObject *code)
{
    fd_frame *frame = fd_frame_current(state);
    fd_frame *caller = fd_frame_python(frame->previous);
    fd_thread *thread = fd_calls_following(state, caller, frame);
    const fd_code *known = thread != NULL ? fd_code_of(thread, code) : NULL;
    if (known == NULL) {
        return true;
    }
    if ((known->special & FD_CODE_MUTED) != 0) {
        fd_monitor_mute(thread, frame);
        return true;
    }
    if ((known->special & FD_CODE_PLUMBING) != 0) {
        thread->frame = frame;
        return true;
    }
    if (known->seen != thread->serial
        && thread->session->code_found(thread->session, known)) {
        return false;
    }
    if ((known->special & FD_CODE_EVENTS) != 0) {
        fd_events_called(thread, known->special, frame, caller);
    }
    fd_calls_follow(thread, known, frame);
    return true;
}

void
fd_monitor_entered(PyObject *code, bool starts)
{
    PyThreadState *state = PyThreadState_Get();
    if (purpose == FD_HOOK_FOLLOWING
        && follow_call(state, (PyCodeObject *)code)) {
        return;
    }
    fd_frame *frame = fd_frame_current(state);
    fd_frame *caller = fd_frame_python(frame->previous);
    fd_thread *thread = fd_calls_monitored(state, caller, frame);
    if (thread != NULL) {
        enter_frame(thread, (PyCodeObject *)code, frame, starts);
    }
}

FD_MONITOR_CALLBACK(on_start)
{
    fd_monitor_entered(args[0], true);
    Py_RETURN_NONE;
}

FD_MONITOR_CALLBACK(on_resume)
{
    fd_monitor_entered(args[0], false);
    Py_RETURN_NONE;
}

/* An exception that is thrown into a generator before its start also counts
 * the call that created it. */
FD_MONITOR_CALLBACK(on_throw)
{
    fd_monitor_entered(
        args[0], !fd_frame_has_started(fd_frame_current(PyThreadState_Get())));
    Py_RETURN_NONE;
}

FD_MONITOR_CALLBACK(on_leave)
{
    call_ended(args[0], args[2]);
    Py_RETURN_NONE;
}

FD_MONITOR_CALLBACK(on_unwind)
{
    call_ended(args[0], NULL);
    Py_RETURN_NONE;
}

/* Return the class of a plain call. A `self` that closures use is in a
 * cell. */
FD_INLINE const PyTypeObject *
plain_type(const fd_code *known, const fd_frame *frame)
{
    if (known->slot < 0) {
        return NULL;
    }
    const PyObject *value = fd_frame_local(frame, known->slot);
    return FD_UNLIKELY(PyCell_Check(value)) ? fd_receiver_type(known, frame)
                                            : Py_TYPE(value);
}

/* Return whether `caller`, the innermost known frame, is the caller of a
 * frame, directly or through C code. */
FD_INLINE bool
is_called_from(const fd_frame *frame, const fd_frame *caller)
{
    fd_frame *previous = frame->previous;
    return previous == caller || fd_frame_python(previous) == caller;
}

/* Enter a call on the shortest path. Return false if it must take another
 * path. */
FD_INLINE bool
enter_plain(const PyObject *code, const fd_call_clock clock)
{
    fd_thread *thread = fd_thread_self;
    const fd_code *known = fd_code_known((const PyCodeObject *)code);
    if (FD_UNLIKELY(thread == NULL
                    || thread->generation != fd_process_generation()
                    || known == NULL || known->special != 0)) {
        return false;
    }
    const fd_frame *frame = fd_frame_current(PyThreadState_Get());
    if (FD_UNLIKELY(!is_called_from(frame, thread->frame))) {
        return false;
    }
    fd_context *context =
        fd_plain_context(thread->tree, known, plain_type(known, frame));
    if (FD_UNLIKELY(context == NULL)) {
        return false;
    }
    fd_plain_open(thread, context, frame, clock);
    return true;
}

/* Return the frame below the plain entry of `frame`, which is at `depth`. */
FD_INLINE const fd_frame *
caller_of(const fd_tree *tree, uint32_t depth, const fd_frame *frame)
{
    fd_frame *previous = frame->previous;
    return depth > 0 && tree->stack[depth - 1].owner == (uintptr_t)previous
             ? previous
             : fd_frame_python(previous);
}

/* Leave a call on the shortest path. Return false if it must take another
 * path. */
FD_INLINE bool
leave_plain(const PyObject *code, const fd_call_clock clock)
{
    fd_thread *thread = fd_thread_self;
    const fd_code *known = fd_code_known((const PyCodeObject *)code);
    if (FD_UNLIKELY(thread == NULL
                    || thread->generation != fd_process_generation()
                    || known == NULL || known->special != 0)) {
        return false;
    }
    const fd_frame *frame = fd_frame_current(PyThreadState_Get());
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    if (FD_UNLIKELY(thread->frame != frame || depth < 2
                    || tree->stack[depth - 1].owner != (uintptr_t)frame)) {
        return false;
    }
    depth--;
    fd_plain_close(thread, depth,
                   fd_tree_context(tree, tree->stack[depth - 1].context),
                   caller_of(tree, depth, frame), clock);
    return true;
}

/* Two callbacks, for begin and end, per clock. */
#define FD_PLAIN_CALLBACKS(name, clock) \
    static PyObject *enter_##name(PyObject *self, PyObject *const *args, \
                                  size_t count, PyObject *names) \
    { \
        if (!enter_plain(args[0], clock)) { \
            return on_start(self, args, count, names); \
        } \
        Py_RETURN_NONE; \
    } \
    static PyObject *leave_##name(PyObject *self, PyObject *const *args, \
                                  size_t count, PyObject *names) \
    { \
        if (!leave_plain(args[0], clock)) { \
            return on_leave(self, args, count, names); \
        } \
        Py_RETURN_NONE; \
    }

FD_PLAIN_CALLBACKS(timed, FD_TSC)
FD_PLAIN_CALLBACKS(timeline, FD_TSC_TIMELINE)
FD_PLAIN_CALLBACKS(slow_clock, FD_OTHER_CLOCK)
FD_PLAIN_CALLBACKS(counted, FD_NO_CLOCK)

static fd_monitored events[] = {
    FD_MONITORED("PY_START", on_start, false),
    FD_MONITORED("PY_RETURN", on_leave, false),
    FD_MONITORED("PY_RESUME", on_resume, false),
    FD_MONITORED("PY_THROW", on_throw, false),
    FD_MONITORED("PY_YIELD", on_leave, false),
    FD_MONITORED("PY_UNWIND", on_unwind, false),
};
static const fd_monitoring_use use = {"calls='monitor'", "use calls='frame'"};
enum { STARTS, RETURNS, EVENTS = sizeof events / sizeof *events };

/* Select the callbacks that depend on the hook. The others are the same for
 * all hooks, because generators are never on the shortest path. */
static void
select_callbacks(fd_hook hook)
{
    bool tsc = fd_clock_is_tsc;
    vectorcallfunc start = on_start;
    vectorcallfunc end = on_leave;
    if (hook == FD_HOOK_COUNTED) {
        start = enter_counted;
        end = leave_counted;
    }
    else if (hook == FD_HOOK_TIMED) {
        start = tsc ? enter_timed : enter_slow_clock;
        end = tsc ? leave_timed : leave_slow_clock;
    }
    else if (hook == FD_HOOK_TIMELINE) {
        start = tsc ? enter_timeline : enter_slow_clock;
        end = tsc ? leave_timeline : leave_slow_clock;
    }
    events[STARTS].call = start;
    events[RETURNS].call = end;
}

fd_status
fd_monitor_install(fd_hook hook, fd_error *error)
{
    purpose = hook;
    select_callbacks(hook);
    if (tool < 0) {
        tool = fd_monitoring_open(use, events, EVENTS, error);
        paused = false;
        if (tool < 0) {
            return FD_ECONFLICT;
        }
    }
    paused = paused && !fd_monitoring_switch(tool, events, EVENTS, true);
    if (paused) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    if (hook == FD_HOOK_FOLLOWING) {
        ignore_unstarted();
    }
    else {
        watch_unstarted();
    }
    return FD_OK;
}

void
fd_monitor_pause(void)
{
    ignore_unstarted();
    paused = tool >= 0 && fd_monitoring_switch(tool, events, EVENTS, false);
}

void
fd_monitor_remove(void)
{
    ignore_unstarted();
    fd_monitoring_close(&tool, events, EVENTS);
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
