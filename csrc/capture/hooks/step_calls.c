#include "capture/hooks/step_calls.h"

#include "recording/measures/latest_calls.h"

enum { STEP_EVENTS = FD_CODE_OPTIMIZER | FD_CODE_ENGINE };

void
fd_events_called(fd_thread *thread, uint16_t special)
{
    thread->step_nesting += (special & STEP_EVENTS) != 0;
}

/* Return whether a call ended a step. Only the outermost call does:
 * train_batch of an engine calls Optimizer.step, and one optimizer may call
 * another. */
static bool
ended_a_step(fd_thread *thread, uint16_t special)
{
    if ((special & STEP_EVENTS) == 0) {
        return false;
    }
    thread->step_nesting -= thread->step_nesting > 0;
    return thread->step_nesting == 0;
}

void
fd_events_returned(fd_thread *thread, uint16_t special)
{
    bool step = ended_a_step(thread, special);
    fd_session *session = fd_process_active();
    if ((special & FD_CODE_WAITS) != 0) {
        if (session != NULL && thread->session == session
            && thread->tree != NULL
            && thread->synced == fd_process_generation()) {
            fd_latest_returned(thread->tree);
        }
        return;
    }
    if (session != NULL && step) {
        session->step_ended(session, thread,
                            (special & FD_CODE_ENGINE) != 0
                                ? FD_STEPS_ENGINE
                                : FD_STEPS_OPTIMIZER);
    }
    if (session != NULL && (special & FD_CODE_CHANGES) != 0) {
        fd_session_changed(session, thread);
    }
}
