#include "capture/hooks/frame_hook.h"

#include "capture/engines/engine_pipeline.h"
#include "capture/hooks/plain_calls.h"
#include "capture/hooks/quiet_frames.h"
#include "capture/hooks/step_calls.h"
#include "capture/operands/layer_operands.h"
#include "capture/operators/ranges.h"
#include "capture/process/thread_stack.h"
#include "capture/timers/call_timers.h"

/* The next evaluator of the chain; NULL: CPython's own. */
static _PyFrameEvalFunction next_evaluator;

/* Whether the evaluator is in the chain: on top, or below a later one that
 * calls it. It is never in the chain twice. */
static bool installed;

/* Calls that run while CPython's own evaluator replaces the chain:
 * evaluate_unhooked. */
static uint32_t unhooked_calls;

/* The next evaluator may have moved to the front, with this one after it
 * (Dynamo does so in every compiled region). Evaluate frames that it has
 * already passed on with CPython's evaluator, to avoid a cycle. */
static __attribute__((noinline)) PyObject *
evaluate_next(PyThreadState *state, fd_frame *frame, int throwing)
{
    fd_thread *thread = fd_thread_self;
    if (_PyInterpreterState_GetEvalFrameFunc(state->interp) == next_evaluator
        || thread == NULL || thread->passing == frame) {
        return fd_frame_evaluate(state, frame, throwing);
    }
    const fd_frame *outer = thread->passing;
    thread->passing = frame;
    PyObject *result = next_evaluator(state, frame, throwing);
    thread->passing = outer;
    return result;
}

static inline PyObject *
evaluate_frame(PyThreadState *state, fd_frame *frame, int throwing)
{
    if (FD_UNLIKELY(next_evaluator != NULL)) {
        return evaluate_next(state, frame, throwing);
    }
    return fd_frame_evaluate(state, frame, throwing);
}

/* Evaluate a frame that is not a node: only update the innermost frame. */
static PyObject *
evaluate_plumbing(PyThreadState *state, fd_frame *frame, int throwing,
                  fd_thread *thread)
{
    uint32_t generation = fd_process_generation();
    const fd_frame *caller = thread->frame;
    thread->frame = frame;
    PyObject *result = evaluate_frame(state, frame, throwing);
    if (fd_process_generation() == generation) {
        thread->frame = caller;
    }
    return result;
}

/* Close a frame that was opened in an earlier generation, if its entry is in
 * the stack. */
static void
earlier_frame_left(fd_thread *thread, const fd_frame *frame,
                   const fd_frame *caller)
{
    if (fd_calls_is_following(thread) && !thread->busy
        && thread->frame == frame) {
        fd_calls_unfollow(thread, frame, caller);
    }
}

/* Record nothing below this frame; charge its time to the caller. */
static PyObject *
evaluate_muted(PyThreadState *state, fd_frame *frame, int throwing,
               fd_thread *thread)
{
    bool was_busy = thread->busy;
    uint32_t generation = thread->generation;
    thread->busy = true;
    thread->unheard = false;
    thread->generation = 0;
    PyObject *result = evaluate_frame(state, frame, throwing);
    thread->busy = was_busy;
    thread->generation = generation;
    fd_optimizer_heard(state, thread);
    return result;
}

/* Evaluate a call with job rules. Its jobs begin and end inside its entry. */
static PyObject *
evaluate_job(PyThreadState *state, fd_frame *frame, int throwing,
             fd_thread *thread, const fd_code *known)
{
    uint32_t generation = thread->synced;
    fd_pipeline_entered(thread, known->jobs, frame);
    PyObject *result = evaluate_frame(state, frame, throwing);
    if (fd_process_generation() == generation) {
        fd_pipeline_left(thread, frame, result);
    }
    return result;
}

static PyObject *
evaluate_recorded(PyThreadState *state, fd_frame *frame, int throwing,
                  fd_thread *thread, const fd_code *known)
{
    uint32_t generation = thread->synced;
    const fd_frame *caller = thread->frame;
    uint32_t depth =
        fd_calls_enter(thread, fd_frame_code(frame), known, frame);
    if (fd_process_generation() != generation) {
        /* A filter stopped the recording. */
        return evaluate_frame(state, frame, throwing);
    }
    thread->frame = frame;
    if (depth != FD_NO_ENTRY) {
        fd_timers_entered(thread);
    }
    PyObject *result = (known->special & FD_CODE_JOB) == 0
                         ? evaluate_frame(state, frame, throwing)
                         : evaluate_job(state, frame, throwing, thread, known);
    if (fd_process_generation() != generation) {
        earlier_frame_left(thread, frame, caller);
        return result;
    }
    fd_calls_leave(thread, depth, frame, caller);
    fd_timers_left(thread);
    return result;
}

/* Read the argument before evaluation, because the frame may be freed. */
static PyObject *
evaluate_nvtx(PyThreadState *state, fd_frame *frame, int throwing,
              fd_thread *thread, const fd_code *known)
{
    uint32_t generation = thread->synced;
    fd_nvtx_call call = fd_nvtx_called(frame);
    PyObject *result =
        evaluate_recorded(state, frame, throwing, thread, known);
    if (result != NULL && fd_process_generation() == generation) {
        fd_nvtx_returned(thread, &call, result);
    }
    Py_XDECREF(call.argument);
    return result;
}

/* Evaluate the forward of a module, for execution traces. */
static PyObject *
evaluate_layer(PyThreadState *state, fd_frame *frame, int throwing,
               fd_thread *thread, const fd_code *known)
{
    uint32_t generation = thread->synced;
    bool open = fd_layer_call_start(thread, known, frame);
    PyObject *result =
        evaluate_recorded(state, frame, throwing, thread, known);
    if (open && fd_process_generation() == generation) {
        fd_layer_call_end(thread, frame, result);
    }
    return result;
}

/* Evaluate a call that is not a simple repetition. */
static __attribute__((noinline)) PyObject *
evaluate_other(PyThreadState *state, fd_frame *frame, int throwing)
{
    fd_thread *thread = fd_thread_self;
    const fd_code *known = fd_code_of(thread, fd_frame_code(frame));
    if (known == NULL) {
        return evaluate_frame(state, frame, throwing);
    }
    uint16_t special = known->special; /* the call may free `known` */
    if ((special & FD_CODE_PLUMBING) != 0) {
        return evaluate_plumbing(state, frame, throwing, thread);
    }
    if ((special & FD_CODE_MUTED) != 0) {
        return evaluate_muted(state, frame, throwing, thread);
    }
    if ((special & FD_CODE_NVTX) != 0) {
        return evaluate_nvtx(state, frame, throwing, thread, known);
    }
    if ((special & FD_CODE_FORWARD) != 0 && thread->session->operands) {
        return evaluate_layer(state, frame, throwing, thread, known);
    }
    if ((special & FD_CODE_EVENTS) == 0) {
        return evaluate_recorded(state, frame, throwing, thread, known);
    }
    fd_events_called(thread, special, frame,
                     fd_frame_python(fd_frame_current(state)));
    PyObject *result =
        evaluate_recorded(state, frame, throwing, thread, known);
    fd_events_returned(thread, special);
    return result;
}

/* Return false if the call must not be recorded. */
FD_INLINE bool
is_ready(PyThreadState *state, fd_frame *frame)
{
    const fd_thread *thread = fd_thread_self;
    fd_frame *caller = fd_frame_current(state);
    if (FD_UNLIKELY(thread->generation != fd_process_generation()
                    || thread->frame != caller)) {
        return fd_calls_prepare(state, fd_frame_python(caller), frame);
    }
    return true;
}

FD_INLINE PyObject *
record_frame(PyThreadState *state, fd_frame *frame, int throwing,
             const fd_call_clock clock)
{
    if (!is_ready(state, frame)) {
        return evaluate_frame(state, frame, throwing);
    }
    fd_thread *thread = fd_thread_self;
    uint32_t generation = thread->synced;
    const fd_code *known = fd_code_known(fd_frame_code(frame));
    if (FD_UNLIKELY(known == NULL || known->special != 0)) {
        return evaluate_other(state, frame, throwing);
    }
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    const PyTypeObject *type =
        known->slot < 0 ? NULL : Py_TYPE(fd_frame_local(frame, known->slot));
    fd_context *context = fd_plain_context(tree, known, type);
    if (FD_UNLIKELY(context == NULL)) {
        return evaluate_other(state, frame, throwing);
    }
    fd_context *parent = tree->current;
    const fd_frame *caller = thread->frame;
    fd_plain_open(thread, context, frame, clock);

    PyObject *result = evaluate_frame(state, frame, throwing);

    if (FD_UNLIKELY(fd_process_generation() != generation)) {
        earlier_frame_left(thread, frame, caller);
        return result;
    }
    if (FD_UNLIKELY(fd_tree_depth(tree) != depth + 1
                    || tree->stack[depth].owner != (uintptr_t)frame)) {
        fd_calls_leave(thread, depth, frame, caller);
        return result;
    }
    fd_plain_close(thread, depth, parent, caller, clock);
    return result;
}

/* Page-aligned, so that the size of other files does not move the function: on
 * Zen 3, branches at some offsets in their pages collide with those of the
 * interpreter in the branch predictor, which costs 11 ns per call. */
#define FD_PLACED __attribute__((aligned(4096)))

static FD_PLACED PyObject *
timed_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    return record_frame(state, frame, throwing, FD_TSC);
}

static FD_PLACED PyObject *
timeline_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    return record_frame(state, frame, throwing, FD_TSC_TIMELINE);
}

/* Calls with GPU timers do not use the shortest path. */
static PyObject *
gpu_timed_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    return is_ready(state, frame) ? evaluate_other(state, frame, throwing)
                                  : evaluate_frame(state, frame, throwing);
}

static PyObject *
slow_clock_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    return record_frame(state, frame, throwing, FD_OTHER_CLOCK);
}

static FD_PLACED PyObject *
counting_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    return record_frame(state, frame, throwing, FD_NO_CLOCK);
}

static _PyFrameEvalFunction work;

static PyObject *frame_evaluator(PyThreadState *state, fd_frame *frame,
                                 int throwing);

/* Put the hook back, in front of an evaluator that was set meanwhile. */
static void
chain_put_back(PyInterpreterState *interpreter, _PyFrameEvalFunction top)
{
    _PyFrameEvalFunction present =
        _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (present == _PyEval_EvalFrameDefault) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, top);
    }
    else if (present != top && present != frame_evaluator) {
        next_evaluator = present;
        _PyInterpreterState_SetEvalFrameFunc(interpreter, frame_evaluator);
    }
}

/* Evaluate a followed call. If it is quiet, remove the hook from all threads
 * until it returns. */
static __attribute__((noinline)) PyObject *
evaluate_quiet(PyThreadState *state, fd_frame *frame, int throwing,
               fd_thread *thread, const fd_code *known)
{
    if (unhooked_calls > 0
        || _PyInterpreterState_GetEvalFrameFunc(state->interp)
               != frame_evaluator
        || next_evaluator != NULL || !fd_quiet_applies(thread, known, frame)) {
        return evaluate_frame(state, frame, throwing);
    }
    bool opened = fd_quiet_is_opened(thread->session);
    fd_quiet.open = opened ? frame : NULL;
    PyObject *result = opened
                         ? evaluate_frame(state, frame, throwing)
                         : fd_quiet_evaluate(state, frame, throwing, thread);
    if (fd_quiet.open == frame) {
        fd_quiet.open = NULL;
    }
    if (fd_quiet.frame == frame) {
        fd_quiet.frame = NULL;
        if (unhooked_calls == 0) {
            chain_put_back(state->interp, frame_evaluator);
        }
    }
    return result;
}

/* Follow a call with special treatment. */
static __attribute__((noinline)) PyObject *
evaluate_followed(PyThreadState *state, fd_frame *frame, int throwing,
                  fd_thread *thread)
{
    const fd_code *known = fd_code_of(thread, fd_frame_code(frame));
    uint16_t special = known != NULL ? known->special : FD_CODE_PLUMBING;
    if ((special & FD_CODE_PLUMBING) != 0) {
        return evaluate_plumbing(state, frame, throwing, thread);
    }
    if ((special & FD_CODE_MUTED) != 0) {
        return evaluate_muted(state, frame, throwing, thread);
    }
    if (known->seen != thread->serial
        && thread->session->code_found(thread->session, known)) {
        return work(state, frame, throwing);
    }
    uint32_t generation = thread->followed;
    const fd_frame *caller = thread->frame;
    if ((special & FD_CODE_EVENTS) != 0) {
        fd_events_called(thread, special, frame,
                         fd_frame_python(fd_frame_current(state)));
    }
    fd_calls_follow(thread, known, frame);
    PyObject *result =
        known->quiet ? evaluate_quiet(state, frame, throwing, thread, known)
                     : evaluate_frame(state, frame, throwing);
    if (fd_process_generation() == generation) {
        fd_calls_unfollow(thread, frame, caller);
    }
    if ((special & FD_CODE_EVENTS) != 0) {
        fd_events_returned(thread, special);
    }
    return result;
}

/* In unrecorded steps. */
static FD_PLACED PyObject *
following_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    fd_thread *thread =
        fd_calls_following(state, fd_frame_current(state), frame);
    if (FD_UNLIKELY(thread == NULL)) {
        return evaluate_frame(state, frame, throwing);
    }
    const fd_code *known = fd_code_known(fd_frame_code(frame));
    if (FD_UNLIKELY(known == NULL || known->seen != thread->serial
                    || (known->special & ~FD_CODE_LOOKED_UP) != 0)) {
        return evaluate_followed(state, frame, throwing, thread);
    }
    uint32_t generation = thread->followed;
    const fd_frame *caller = thread->frame;
    fd_calls_follow(thread, known, frame);
    PyObject *result =
        FD_UNLIKELY(known->quiet)
            ? evaluate_quiet(state, frame, throwing, thread, known)
            : evaluate_frame(state, frame, throwing);
    if (fd_process_generation() == generation) {
        fd_calls_unfollow(thread, frame, caller);
    }
    return result;
}

static void leave_chain(PyInterpreterState *interpreter);

/* While nothing is recorded but another tool is on top of the chain. */
static PyObject *
idle_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    _PyFrameEvalFunction next = next_evaluator;
    leave_chain(state->interp);
    if (installed) {
        return evaluate_frame(state, frame, throwing);
    }
    return next != NULL ? next(state, frame, throwing)
                        : fd_frame_evaluate(state, frame, throwing);
}

/* The current work of the evaluator; changes under the GIL. */
static _PyFrameEvalFunction work = idle_evaluator;

typedef struct deep_call {
    PyThreadState *state;
    fd_frame *frame;
    int throwing;
    PyObject *result;
} deep_call;

static void
work_deep(void *argument)
{
    deep_call *call = argument;
    call->result = work(call->state, call->frame, call->throwing);
}

static void
unhooked_count(uint64_t begin)
{
    const fd_session *session = fd_process_active();
    if (session != NULL && session->running) {
        const fd_file *file = &session->recording->file;
        uint64_t ticks = fd_clock_ticks_of(false) - begin;
        fd_file_count(file, FD_COUNT_DEEP_STACK);
        fd_file_add(file, FD_COUNT_UNHOOKED_NS, ticks);
    }
}

/* If there is no further segment, remove the hook for all threads until this
 * call returns: CPython's own evaluator runs nested Python calls without C
 * recursion. */
static PyObject *
evaluate_unhooked(PyThreadState *state, fd_frame *frame, int throwing)
{
    PyInterpreterState *interpreter = state->interp;
    _PyFrameEvalFunction top =
        _PyInterpreterState_GetEvalFrameFunc(interpreter);
    uint64_t begin = fd_clock_ticks_of(false);
    unhooked_calls++;
    _PyInterpreterState_SetEvalFrameFunc(interpreter,
                                         _PyEval_EvalFrameDefault);
    PyObject *result = fd_frame_evaluate(state, frame, throwing);
    unhooked_calls--;
    chain_put_back(interpreter, top);
    unhooked_count(begin);
    return result;
}

/* Evaluate on another segment if the C stack is nearly used up. */
static PyObject *
evaluate_deep(PyThreadState *state, fd_frame *frame, int throwing,
              fd_thread *thread)
{
    deep_call call = {state, frame, throwing, NULL};
    fd_stack_position before = fd_thread_next_segment(thread, state);
    if (thread->segment == before.segment) {
        return evaluate_unhooked(state, frame, throwing);
    }
    fd_segment_run(thread->segment, work_deep, &call);
    fd_thread_previous_segment(thread, state, &before);
    return call.result;
}

static __attribute__((noinline)) PyObject *
begin_work(PyThreadState *state, fd_frame *frame, int throwing)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL) { /* out of memory */
        return evaluate_frame(state, frame, throwing);
    }
    if ((const char *)__builtin_frame_address(0) < thread->stack.low
        && (thread->segment != NULL || !fd_stack_has_space(&thread->stack))) {
        return evaluate_deep(state, frame, throwing, thread);
    }
    return work(state, frame, throwing);
}

/* The only evaluator of the process. It calls `work`, so that begins and ends
 * of windows do not change the chain of evaluators. It always checks the C
 * stack. */
static FD_PLACED PyObject *
frame_evaluator(PyThreadState *state, fd_frame *frame, int throwing)
{
    const fd_thread *thread = fd_thread_self;
    if (FD_UNLIKELY(thread == NULL
                    || (const char *)__builtin_frame_address(0)
                           < thread->stack.low)) {
        return begin_work(state, frame, throwing);
    }
    return work(state, frame, throwing);
}

static _PyFrameEvalFunction
evaluator_of(fd_hook hook)
{
    switch (hook) {
    case FD_HOOK_TIMED:
        return fd_clock_is_tsc ? timed_evaluator : slow_clock_evaluator;
    case FD_HOOK_TIMELINE:
        return fd_clock_is_tsc ? timeline_evaluator : slow_clock_evaluator;
    case FD_HOOK_GPU:
        return gpu_timed_evaluator;
    case FD_HOOK_COUNTED:
        return counting_evaluator;
    case FD_HOOK_FOLLOWING:
        return following_evaluator;
    }
    return counting_evaluator;
}

static void
leave_chain(PyInterpreterState *interpreter)
{
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != frame_evaluator) {
        return;
    }
    _PyInterpreterState_SetEvalFrameFunc(
        interpreter,
        next_evaluator != NULL ? next_evaluator : _PyEval_EvalFrameDefault);
    next_evaluator = NULL;
    installed = false;
}

void
fd_frame_hook_install(fd_hook hook)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction top =
        _PyInterpreterState_GetEvalFrameFunc(interpreter);
    work = evaluator_of(hook);
    if (unhooked_calls > 0 && installed) {
        return; /* the chain is put back at the end of the deepest call */
    }
    if (top == _PyEval_EvalFrameDefault) {
        fd_quiet.frame = NULL;
    }
    if (top == frame_evaluator
        || (installed && top != _PyEval_EvalFrameDefault)) {
        return;
    }
    next_evaluator = top != _PyEval_EvalFrameDefault ? top : NULL;
    installed = true;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, frame_evaluator);
}

void
fd_frame_hook_remove(void)
{
    work = idle_evaluator;
    leave_chain(PyInterpreterState_Get());
    if (fd_quiet.frame != NULL) {
        fd_quiet.frame = NULL;
        installed = false;
    }
}

bool
fd_frame_hook_reopen(bool open)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (fd_quiet.frame == NULL || unhooked_calls > 0
        || _PyInterpreterState_GetEvalFrameFunc(interpreter)
               != _PyEval_EvalFrameDefault) {
        return false;
    }
    fd_quiet.open = open ? fd_quiet.frame : NULL;
    fd_quiet.frame = NULL;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, frame_evaluator);
    return true;
}

bool
fd_frame_hook_is_lost(void)
{
    return installed && unhooked_calls == 0 && fd_quiet.frame == NULL
        && _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get())
               == _PyEval_EvalFrameDefault;
}
