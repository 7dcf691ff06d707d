#include "capture/hooks/c_calls.h"

#include "capture/frames/c_function_nodes.h"
#include "capture/frames/python_calls.h"
#include "capture/hooks/profiler_start.h"
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
    fd_profiler_start_called(args[2]);
    Py_RETURN_NONE;
}

/* Also reports ends of calls that were not recorded: calls of classes. */
static PyObject *
on_end(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    end_call(PyThreadState_Get());
    fd_profiler_start_returned();
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
    fd_profiler_start_find();
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
