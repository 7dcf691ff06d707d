#include "capture/frames/constructors.h"

#include "base/vector.h"
#include "capture/frames/python_calls.h"
#include "capture/python/monitoring.h"
#include "recording/open_entries.h"

#if FD_HAS_HIDDEN_CONSTRUCTORS

static int tool = -1;
static int watcher = -1;

/* Return whether the hook has just opened this frame, or found no space for
 * it. An unhooked entry may remain from an earlier frame at the same
 * address. */
static bool
has_entry(const fd_thread *thread, const fd_frame *frame)
{
    if (thread == NULL || thread->frame != frame
        || thread->generation != fd_process_generation()) {
        return false;
    }
    uint32_t depth = fd_tree_depth(thread->tree);
    const fd_entry *top = depth > 0 ? &thread->tree->stack[depth - 1] : NULL;
    return thread->beyond > 0
        || (top != NULL && top->owner == (uintptr_t)frame
            && (top->flags & FD_ENTRY_UNHOOKED) == 0);
}

FD_MONITOR_CALLBACK(on_start)
{
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    if (has_entry(fd_thread_self, frame)) {
        Py_RETURN_NONE;
    }
    PyCodeObject *code = (PyCodeObject *)args[0];
    fd_thread *thread =
        fd_calls_monitored(state, fd_frame_python(frame->previous), frame);
    const fd_code *known = thread != NULL ? fd_code_of(thread, code) : NULL;
    if (known != NULL
        && (known->special & (FD_CODE_PLUMBING | FD_CODE_MUTED)) == 0) {
        fd_calls_enter_unhooked(thread, code, known, frame);
        thread->unhooked = frame; /* exceptions are not reported */
    }
    Py_RETURN_NONE;
}

/* Handle the end by return; the hook closes the frames that it opened.
 * Exceptions could only be reported for all code, which would disturb other
 * tools: the next event of the thread detects that the frame has ended. */
FD_MONITOR_CALLBACK(on_end)
{
    const fd_code *known = fd_code_known((const PyCodeObject *)args[0]);
    if (known == NULL || !known->constructor) {
        Py_RETURN_NONE;
    }
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    fd_thread *thread = fd_calls_ending(state, frame);
    int64_t at = thread == NULL
                   ? -1
                   : fd_stack_find(thread->tree, frame, FD_ENTRY_FRAME);
    if (at >= 0 && (thread->tree->stack[at].flags & FD_ENTRY_UNHOOKED) != 0) {
        fd_calls_leave(thread, (uint32_t)at, frame,
                       fd_frame_python(frame->previous));
    }
    Py_RETURN_NONE;
}

static fd_monitored events[] = {
    FD_MONITORED("PY_START", on_start, true),
    FD_MONITORED("PY_RETURN", on_end, true),
};
static const fd_monitoring_use use = {"calls='frame'", "use calls='monitor'"};
enum { EVENTS = sizeof events / sizeof *events };

static void
add_if_new(PyCodeObject *code)
{
    if (fd_constructor_is(code) && fd_code_known(code) == NULL) {
        fd_code_add(code);
    }
}

static int
on_function(PyFunction_WatchEvent event, PyFunctionObject *function,
            PyObject *value)
{
    (void)value;
    if (event == PyFunction_EVENT_CREATE) {
        add_if_new((PyCodeObject *)function->func_code);
    }
    return 0;
}

typedef FD_VECTOR(PyCodeObject *) code_list;

/* Collect the objects first: they must not change during the visit. */
static int
collect_object(PyObject *object, void *list)
{
    if (PyFunction_Check(object)) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(object);
        if (fd_constructor_is(code) && fd_code_known(code) == NULL
            && fd_vector_push((code_list *)list, code) == FD_OK) {
            Py_INCREF(code);
        }
    }
    return 1;
}

static void
add_existing(void)
{
    code_list found = {NULL, 0, 0};
    PyUnstable_GC_VisitObjects(collect_object, &found);
    for (uint32_t i = 0; i < found.count; i++) {
        add_if_new(found.list[i]);
        Py_DECREF(found.list[i]);
    }
    fd_vector_clear(&found);
}

void
fd_constructors_watch(void)
{
    if (tool >= 0) {
        return;
    }
    PyObject *pending = PyErr_GetRaisedException();
    tool = fd_monitoring_open(use, events, EVENTS, NULL);
    if (tool >= 0) {
        fd_constructors_report(tool, events[0].bit | events[1].bit);
        add_existing();
        watcher = PyFunction_AddWatcher(on_function);
    }
    PyErr_SetRaisedException(pending);
}

void
fd_constructors_release(void)
{
    if (tool < 0) {
        return;
    }
    PyObject *pending = PyErr_GetRaisedException();
    if (watcher >= 0) {
        PyFunction_ClearWatcher(watcher);
        watcher = -1;
    }
    fd_constructors_report(tool, 0);
    fd_monitoring_close(&tool, events, EVENTS);
    PyErr_SetRaisedException(pending);
}

#else

void
fd_constructors_watch(void)
{
}

void
fd_constructors_release(void)
{
}

#endif
