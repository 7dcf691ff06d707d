#include "capture/hooks/watched_steps.h"

#include "capture/frames/python_calls.h"
#include "capture/hooks/monitor.h"
#include "capture/hooks/step_calls.h"
#include "capture/process/guard.h"
#include "capture/python/monitoring.h"

#if PY_VERSION_HEX >= 0x030C0000 /* sys.monitoring */

static int tool = -1;
static bool watching;
static bool was_watching; /* in an earlier recording */
static PyObject *disable; /* borrowed: sys.monitoring.DISABLE, never freed */

/* Begin to mute or to record the call of `frame`, if its code requires it.
 * Return false if it must be recorded. */
static bool
watch_call(PyThreadState *state, PyCodeObject *code, fd_frame *frame,
           fd_frame *caller)
{
    fd_session *session = fd_process_active();
    fd_thread *thread = fd_thread_get();
    if (session == NULL || session->running || thread == NULL
        || thread->busy) {
        return true;
    }
    if (caller == NULL) {
        fd_calls_watch_thread(thread, state, frame);
    }
    const fd_code *known = fd_code_of(thread, code);
    if (known == NULL) {
        return true;
    }
    if ((known->special & FD_CODE_MUTED) != 0) {
        fd_monitor_mute(thread, frame);
        return true;
    }
    if ((known->special & FD_CODE_PLUMBING) != 0) {
        return true;
    }
    if (known->seen != session->serial
        && session->code_found(session, known)) {
        return false;
    }
    if ((known->special & FD_CODE_EVENTS) != 0) {
        fd_events_called(thread, known->special, frame, caller);
    }
    return true;
}

/* Return whether nothing has to be reported about this code again. */
static bool
code_is_settled(const PyCodeObject *code)
{
    const fd_code *known = fd_code_known(code);
    return known != NULL
        && (known->special & (FD_CODE_EVENTS | FD_CODE_MUTED)) == 0
        && (known->seen == fd_process_serial()
            || (known->special & FD_CODE_PLUMBING) != 0);
}

/* The first call of a thread is always reported. */
static bool
watched_start(PyObject *code, bool starts)
{
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    fd_frame *caller = fd_frame_python(frame->previous);
    if (watching && !watch_call(state, (PyCodeObject *)code, frame, caller)) {
        fd_monitor_entered(code, starts);
    }
    return caller != NULL && code_is_settled((PyCodeObject *)code);
}

static void
watched_end(PyObject *object)
{
    const PyCodeObject *code = (const PyCodeObject *)object;
    const fd_code *known = fd_code_known(code);
    fd_code_returned(code);
    if (watching) {
        fd_monitor_unmute(fd_frame_current(PyThreadState_Get()));
        if (known != NULL && (known->special & FD_CODE_EVENTS) != 0) {
            fd_monitor_returned(known->special);
        }
    }
}

static PyObject *
on_watched_start(PyObject *self, PyObject *const *args, size_t count,
                 PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    return Py_NewRef(watched_start(args[0], true) ? disable : Py_None);
}

static PyObject *
on_watched_resume(PyObject *self, PyObject *const *args, size_t count,
                  PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    return Py_NewRef(watched_start(args[0], false) ? disable : Py_None);
}

static PyObject *
on_watched_end(PyObject *self, PyObject *const *args, size_t count,
               PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    watched_end(args[0]);
    return Py_NewRef(code_is_settled((PyCodeObject *)args[0]) ? disable
                                                              : Py_None);
}

/* Events of exceptions cannot be disabled. */
static PyObject *
on_watched_throw(PyObject *self, PyObject *const *args, size_t count,
                 PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    watched_start(
        args[0], !fd_frame_has_started(fd_frame_current(PyThreadState_Get())));
    Py_RETURN_NONE;
}

static PyObject *
on_watched_unwind(PyObject *self, PyObject *const *args, size_t count,
                  PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    watched_end(args[0]);
    Py_RETURN_NONE;
}

static fd_monitored events[] = {
    FD_MONITORED("PY_START", on_watched_start, false),
    FD_MONITORED("PY_RETURN", on_watched_end, false),
    FD_MONITORED("PY_RESUME", on_watched_resume, false),
    FD_MONITORED("PY_THROW", on_watched_throw, false),
    FD_MONITORED("PY_YIELD", on_watched_end, false),
    FD_MONITORED("PY_UNWIND", on_watched_unwind, false),
};

static const fd_monitoring_use use = {"calls='monitor'", "use calls='frame'"};
enum { EVENTS = sizeof events / sizeof *events };

static bool
tool_is_open(void)
{
    if (tool >= 0) {
        return true;
    }
    disable = fd_monitoring_constant("DISABLE");
    tool =
        disable == NULL ? -1 : fd_monitoring_open(use, events, EVENTS, NULL);
    if (tool >= 0 && was_watching) {
        fd_monitoring_restart();
    }
    was_watching |= tool >= 0;
    return tool >= 0;
}

bool
fd_watched_steps_begin(void)
{
    if (tool_is_open()) {
        fd_monitor_pause();
        watching = true;
    }
    return watching;
}

void
fd_watched_steps_end(void)
{
    watching = false;
}

void
fd_watched_steps_close(void)
{
    watching = false;
    fd_monitoring_close(&tool, events, EVENTS);
}

#else

bool
fd_watched_steps_begin(void)
{
    return false;
}

void
fd_watched_steps_end(void)
{
}

void
fd_watched_steps_close(void)
{
}

#endif
