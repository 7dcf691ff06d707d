#include "capture/hooks/source_lines.h"

#include "capture/frames/python_calls.h"
#include "capture/process/guard.h"
#include "capture/python/monitoring.h"
#include "capture/python/utf8_text.h"
#include "recording/measures/measure_table.h"

/* Return the lines of the calling thread in the running recording, or NULL if
 * there is no memory. */
static fd_thread_lines *
lines_of(fd_thread *thread)
{
    fd_thread_lines *lines = thread->lines;
    if (lines == NULL) {
        lines = fd_calloc(1, sizeof *lines);
        if (lines == NULL) {
            return NULL;
        }
        thread->lines = lines;
    }
    if (lines->generation != thread->synced) {
        /* Discard records of another recording. */
        lines->generation = thread->synced;
        lines->open.count = 0;
    }
    return lines;
}

/* Return the context of the call of `frame`, the innermost one, if its lines
 * are recorded, else 0. Ranges and operators may be open above it. */
static uint32_t
context_of(const fd_tree *tree, const fd_frame *frame)
{
    uint32_t at = fd_tree_depth(tree);
    while (at > 0 && tree->stack[at - 1].owner != (uintptr_t)frame
           && (tree->stack[at - 1].flags & FD_ENTRY_FRAME) == 0) {
        at--;
    }
    if (at == 0 || tree->stack[at - 1].owner != (uintptr_t)frame
        || (tree->stack[at - 1].flags & FD_ENTRY_CONTRACTED) != 0) {
        return 0;
    }
    uint32_t id = tree->stack[at - 1].context;
    const fd_context *context = fd_tree_context(tree, id);
    const fd_node *node =
        fd_file_record(&tree->recording->file, context->node);
    return (context->flags & FD_CONTEXT_ABSORBS) == 0
                && node->kind == FD_NODE_PYTHON && node->from == FD_FROM_USER
             ? id
             : 0;
}

static fd_measure *
record_of(fd_tree *tree, uint32_t context, int line)
{
    int error = errno;
    fd_measure *record = fd_measures_at(
        tree, (fd_measure_key){.context = context,
                               .kind = FD_MEASURE_LINES,
                               .detail = line > 0 ? (uint32_t)line : 0});
    errno = error;
    return record;
}

static void
charge(const fd_open_line *line, uint64_t now)
{
    if (line->record != NULL && now > line->start) {
        uint64_t ticks = now - line->start;
        line->record->sum += ticks;
        line->record->max =
            ticks > line->record->max ? ticks : line->record->max;
    }
}

/* Return the open line of `frame`, or NULL. First end the lines above it,
 * whose frames have ended unseen or belong to another greenlet. */
static fd_open_line *
line_of(fd_thread_lines *lines, const fd_frame *frame, uint64_t now)
{
    uint32_t at = lines->open.count;
    while (at > 0 && lines->open.list[at - 1].frame != frame) {
        at--;
    }
    if (at == 0) {
        return NULL;
    }
    while (lines->open.count > at) {
        charge(&lines->open.list[--lines->open.count], now);
    }
    return &lines->open.list[at - 1];
}

/* Begin (`hit`) or continue `line` of `frame`. Return false if lines of this
 * call are not recorded. */
static bool
begin(PyThreadState *state, fd_frame *frame, int line, bool hit)
{
    fd_thread *thread = fd_calls_monitored(state, frame, NULL);
    fd_thread_lines *lines = thread != NULL ? lines_of(thread) : NULL;
    if (lines == NULL) {
        return thread == NULL;
    }
    fd_tree *tree = thread->tree;
    uint64_t now = thread->session->timed ? fd_clock_ticks() : 0;
    fd_open_line *open = line_of(lines, frame, now);
    if (open != NULL) {
        charge(open, now);
    }
    uint32_t context = context_of(tree, frame);
    if (context == 0) {
        return false;
    }
    fd_open_line next = {frame, record_of(tree, context, line), now};
    if (hit && next.record != NULL) {
        next.record->count++;
    }
    if (open != NULL) {
        *open = next;
    }
    else if (fd_vector_push(&lines->open, next) != FD_OK) {
        fd_file_count(&tree->recording->file, FD_COUNT_MEASURES_FULL);
    }
    return true;
}

/* End the line of a frame that has returned, yielded or raised. */
static void
end(const fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread == NULL || thread->lines == NULL || thread->busy
        || thread->tree == NULL || thread->synced != fd_process_generation()
        || thread->serial != fd_process_serial()
        || thread->lines->generation != thread->synced) {
        return;
    }
    uint64_t now = thread->session->timed ? fd_clock_ticks() : 0;
    fd_open_line *open = line_of(thread->lines, frame, now);
    if (open != NULL) {
        charge(open, now);
        thread->lines->open.count--;
    }
}

#if PY_VERSION_HEX >= 0x030C0000 /* sys.monitoring */

static int tool = -1;
static PyObject *disable; /* borrowed: sys.monitoring.DISABLE, never freed */

/* Return whether calls of this code cannot have lines, because it is not the
 * user's. */
static bool
is_foreign(PyObject *code)
{
    fd_thread *thread = fd_thread_self;
    const fd_session *session = fd_process_active();
    if (thread == NULL || thread->busy || session == NULL) {
        return false;
    }
    fd_file_package found;
    fd_guard guard = fd_guard_enter(thread);
    PyObject *file = fd_utf8_text_of(((PyCodeObject *)code)->co_filename);
    fd_paths_package(&session->paths, fd_utf8(file, ""), &found);
    Py_XDECREF(file);
    fd_guard_leave(&guard);
    return found.from != FD_FROM_USER;
}

/* Return the result of a callback: disable the events at this location in
 * foreign code. */
static PyObject *
result_for(PyObject *code, bool recorded)
{
    return Py_NewRef(
        !recorded && disable != NULL && is_foreign(code) ? disable : Py_None);
}

/* Does nothing, but must be registered: 3.13 does not report the line of a
 * one-line function unless its start is reported. */
static PyObject *
on_start(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    return result_for(args[0], false);
}

/* args: code, line number. */
static PyObject *
on_line(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    PyThreadState *state = PyThreadState_Get();
    bool recorded = begin(state, fd_frame_current(state),
                          (int)PyLong_AsLong(args[1]), true);
    return result_for(args[0], recorded);
}

/* args: code, offset. */
static bool
resumed(PyObject *const *args)
{
    PyThreadState *state = PyThreadState_Get();
    int line =
        PyCode_Addr2Line((PyCodeObject *)args[0], (int)PyLong_AsLong(args[1]));
    return begin(state, fd_frame_current(state), line, false);
}

static PyObject *
on_resume(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    return result_for(args[0], resumed(args));
}

/* Events of exceptions cannot be disabled per location. */
static PyObject *
on_throw(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    resumed(args);
    Py_RETURN_NONE;
}

static PyObject *
on_leave(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)count;
    (void)names;
    const fd_thread *thread = fd_thread_self;
    const fd_frame *frame = fd_frame_current(PyThreadState_Get());
    uint32_t before = thread != NULL && thread->lines != NULL
                        ? thread->lines->open.count
                        : 0;
    end(frame);
    bool ended = before > 0 && thread->lines->open.count < before;
    return result_for(args[0], ended);
}

static PyObject *
on_unwind(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    (void)self;
    (void)args;
    (void)count;
    (void)names;
    end(fd_frame_current(PyThreadState_Get()));
    Py_RETURN_NONE;
}

static fd_monitored events[] = {
    FD_MONITORED("PY_START", on_start, false),
    FD_MONITORED("LINE", on_line, false),
    FD_MONITORED("PY_RESUME", on_resume, false),
    FD_MONITORED("PY_THROW", on_throw, false),
    FD_MONITORED("PY_RETURN", on_leave, false),
    FD_MONITORED("PY_YIELD", on_leave, false),
    FD_MONITORED("PY_UNWIND", on_unwind, false),
};
static const fd_monitoring_use use = {"detail='lines'", "omit detail"};
enum { EVENTS = sizeof events / sizeof *events };

fd_status
fd_lines_open(fd_session *session, fd_error *error)
{
    tool = fd_monitoring_open(use, events, EVENTS, error);
    if (tool < 0) {
        return FD_ECONFLICT;
    }
    disable = fd_monitoring_constant("DISABLE");
    fd_lines_switch(session, false);
    return FD_OK;
}

void
fd_lines_switch(fd_session *session, bool on)
{
    if (tool >= 0 && !fd_monitoring_switch(tool, events, EVENTS, on)) {
        fd_file_count(&session->recording->file, FD_COUNT_HOOK_LOST);
    }
}

void
fd_lines_close(void)
{
    fd_monitoring_close(&tool, events, EVENTS);
}

bool
fd_lines_check(const fd_session *session)
{
    (void)session;
    return true;
}

#else

/* The trace function; it never fails. */
static int
on_event(PyObject *self, PyFrameObject *object, int event, PyObject *argument)
{
    (void)self;
    (void)argument;
    PyThreadState *state = PyThreadState_Get();
    fd_frame *frame = fd_frame_current(state);
    if (event == PyTrace_LINE) {
        begin(state, frame, PyFrame_GetLineNumber(object), true);
    }
    else if (event == PyTrace_CALL && fd_frame_has_yielded(frame)) {
        begin(state, frame, PyFrame_GetLineNumber(object), false);
    }
    else if (event == PyTrace_RETURN) {
        end(frame);
    }
    return 0;
}

fd_status
fd_lines_open(fd_session *session, fd_error *error)
{
    if (!fd_tracers_free(FD_TRACE_FUNCTION, on_event)) {
        return fd_fail(error, FD_ECONFLICT,
                       "detail='lines': this program has a trace function"
                       " (sys.settrace: a debugger, or coverage), and Python"
                       " 3.11 allows one: end it, or omit detail");
    }
    session->on_line = on_event;
    return FD_OK;
}

void
fd_lines_switch(fd_session *session, bool on)
{
    (void)session;
    fd_tracers_replace(FD_TRACE_FUNCTION, on ? NULL : on_event,
                       on ? on_event : NULL);
}

void
fd_lines_close(void)
{
    fd_tracers_replace(FD_TRACE_FUNCTION, on_event, NULL);
}

bool
fd_lines_check(const fd_session *session)
{
    return session->on_line == NULL
        || !fd_tracer_replace(PyThreadState_Get(), FD_TRACE_FUNCTION, NULL,
                              on_event);
}

#endif
