#include "capture/hooks/quiet_frames.h"

#include "capture/frames/python_calls.h"
#include "capture/state/session_state.h"

enum { MORE_FOLLOWS = 3 /* a quiet call costs as much as four */ };

fd_quiet_frames fd_quiet;

/* The alarm of the watch must be able to end it. */
bool
fd_quiet_applies(const fd_thread *thread, const fd_code *known,
                 const fd_frame *frame)
{
    const fd_session *session = thread->session;
    return fd_quiet.frame == NULL && fd_quiet.open == NULL
        && thread == session->quiet.thread && session->watch.running
        && fd_map_get(&session->quiet.calls,
                      (uint64_t)known->id << 32 | fd_calls_class(known, frame))
               != 0;
}

bool
fd_quiet_is_opened(const fd_session *session)
{
    const fd_quiet_plan *plan = &session->quiet;
    return fd_hash_word(session->step) % plan->steps_per_open == 0;
}

void
fd_quiet_forget(fd_session *session)
{
    fd_map_clear(&session->quiet.calls);
    session->quiet.hides_steps = false;
    session->quiet.hides_passes = false;
    session->quiet.contexts = 0;
}

PyObject *
fd_quiet_evaluate(PyThreadState *state, fd_frame *frame, int throwing,
                  fd_thread *thread)
{
    uint32_t generation = fd_process_generation();
    _Atomic uint32_t *running = &thread->tree->record->running;
    thread->follows += MORE_FOLLOWS;
    fd_quiet.frame = frame;
    fd_quiet.count = fd_quiet.count == UINT32_MAX ? 1 : fd_quiet.count + 1;
    atomic_store_explicit(&fd_quiet.number, fd_quiet.count,
                          memory_order_relaxed);
    atomic_store_explicit(running, FD_THREAD_QUIET, memory_order_release);
    _PyInterpreterState_SetEvalFrameFunc(state->interp,
                                         _PyEval_EvalFrameDefault);
    PyObject *result = fd_frame_evaluate(state, frame, throwing);
    atomic_store_explicit(&fd_quiet.number, 0, memory_order_relaxed);
    if (fd_process_generation() == generation) {
        atomic_store_explicit(running, FD_THREAD_RUNS, memory_order_release);
    }
    return result;
}

bool
fd_quiet_is_long(void)
{
    uint32_t number =
        atomic_load_explicit(&fd_quiet.number, memory_order_relaxed);
    bool is_long =
        number != 0 && number == fd_quiet.seen && number != fd_quiet.reported;
    fd_quiet.seen = number;
    fd_quiet.reported = is_long ? number : fd_quiet.reported;
    return is_long;
}
