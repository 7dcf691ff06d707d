#include "capture/hooks/step_calls.h"

#include "capture/hooks/quiet_frames.h"
#include "capture/hooks/step_sites.h"
#include "capture/process/guard.h"
#include "recording/measures/latest_calls.h"
#include "recording/recording.h"

#include <stdio.h>

enum {
    STEP_EVENTS = FD_CODE_OPTIMIZER | FD_CODE_ENGINE,
    MOST_NOTES = 16,
    LONGEST_US = 100 /* time for an end of a step without the schedule */
};

/* Add the time since `began` to that for the ends of unrecorded steps, without
 * the schedule, which measures its own. Long times are other work of the
 * machine and do not count. */
static void
count_end_time(uint64_t began)
{
    fd_session *session = fd_process_active();
    if (session == NULL || session->quiet.reporting) {
        return;
    }
    fd_partial_plan *plan = &session->partial;
    uint64_t ticks = fd_clock_ticks() - began - plan->asked;
    if (!session->running
        && (double)ticks < fd_clock_hertz() / 1e6 * LONGEST_US) {
        plan->handled += ticks;
    }
    plan->asked = 0;
}

/* Return the optimizer of a call: `self`, the first positional argument, or
 * the argument of a scaler. */
static PyObject *
optimizer_of(uint16_t special, const fd_frame *frame)
{
    int slot = (special & FD_CODE_SCALER) != 0 ? 1 : 0;
    PyObject *value = fd_unboxed(fd_frame_local(frame, slot));
    return value != NULL && PyTuple_CheckExact(value)
                && PyTuple_GET_SIZE(value) > 0
             ? PyTuple_GET_ITEM(value, 0)
             : value;
}

/* Return whether the session has recorded a function that belongs to epochs. */
static bool
has_epochs(const fd_session *session)
{
    static const char *const names[] = {"Module.eval",
                                        "_BaseDataLoaderIter.__next__"};
    for (const fd_code *at = fd_process.known; at != NULL; at = at->next) {
        bool seen = at->seen == session->serial;
        for (size_t i = 0; seen && i < sizeof names / sizeof *names; i++) {
            if (PyUnicode_CompareWithASCIIString(at->code->co_qualname,
                                                 names[i])
                == 0) {
                return true;
            }
        }
    }
    return false;
}

static void
round_began(fd_session *session)
{
    fd_rounds *rounds = &session->step_plan.rounds;
    uint32_t calls = fd_rounds_timed(rounds, fd_clock_ticks());
    rounds->unclear += calls > 0 && !has_epochs(session) ? calls : 0;
}

/* Assume the usual backward passes, if they may have run in quiet calls since
 * the previous optimizer. */
static void
assume_passes(fd_session *session)
{
    fd_quiet_plan *quiet = &session->quiet;
    fd_rounds *rounds = &session->step_plan.rounds;
    bool hidden = quiet->hides_passes && quiet->count != fd_quiet.count;
    quiet->count = fd_quiet.count;
    while (hidden && rounds->passes < fd_rounds_usual_passes(rounds)) {
        fd_rounds_backward(rounds);
    }
}

/* Add a call of thread->stepping to the rounds. `callee`: see fd_step_site. */
static void
add_to_rounds(fd_session *session, fd_thread *thread, fd_frame *caller,
              const fd_frame *callee)
{
    fd_rounds *rounds = &session->step_plan.rounds;
    uint32_t site = fd_step_site(session, thread, caller, callee);
    if (fd_rounds_called(rounds, thread->stepping, site)) {
        round_began(session);
    }
    if (session->quiet.hides_passes && fd_rounds_usual_passes(rounds) == 0) {
        fd_quiet_forget(session);
    }
}

static void
optimizer_called(fd_thread *thread, uint16_t special, const fd_frame *frame,
                 fd_frame *caller)
{
    PyObject *optimizer = optimizer_of(special, frame);
    fd_session *session = fd_process_active();
    thread->stepping = 0;
    thread->reports = 0;
    thread->reported = false;
    if (session != NULL && optimizer != NULL) {
        assume_passes(session);
        fd_guard guard = fd_guard_enter(thread);
        thread->stepping =
            fd_optimizer_id(&session->step_plan.optimizers, optimizer);
        fd_guard_leave(&guard);
        add_to_rounds(session, thread, caller,
                      session->quiet.reporting ? frame : NULL);
    }
}

void
fd_events_called(fd_thread *thread, uint16_t special, const fd_frame *frame,
                 fd_frame *caller)
{
    fd_session *session = fd_process_active();
    if ((special & FD_CODE_BACKWARD) != 0 && session != NULL) {
        session->step_plan.backwards++;
        fd_rounds_backward(&session->step_plan.rounds);
    }
    if ((special & STEP_EVENTS) == 0) {
        return;
    }
    if (thread->step_nesting++ == 0 && (special & FD_CODE_OPTIMIZER) != 0) {
        uint64_t began = fd_clock_ticks();
        optimizer_called(thread, special, frame, caller);
        count_end_time(began);
    }
}

/* Store the number of optimizers in a step. */
static void
note_optimizers(fd_session *session)
{
    fd_step_plan *plan = &session->step_plan;
    const fd_rounds *rounds = &plan->rounds;
    uint32_t number = rounds->in_previous > rounds->optimizers
                        ? rounds->in_previous
                        : rounds->optimizers;
    if (number != plan->noted && plan->notes < MOST_NOTES) {
        char json[16];
        snprintf(json, sizeof json, "%u", number);
        fd_recording_note(session->recording, "optimizers", json);
        plan->noted = number;
        plan->notes++;
    }
}

/* Return whether a call of an optimizer ended a step. Inside a backward pass
 * (hooks of parameters), the step ends with that. */
static bool
optimizer_ended(fd_session *session, const fd_thread *thread)
{
    fd_step_plan *plan = &session->step_plan;
    bool ended = fd_rounds_returned(&plan->rounds, thread->stepping);
    fd_header *header = fd_file_header(&session->recording->file);
    header->counters[FD_COUNT_STEPS_UNCLEAR] =
        fd_rounds_unclear(&plan->rounds);
    if (ended) {
        note_optimizers(session);
    }
    plan->pending |= ended && plan->backwards > 0;
    return ended && plan->backwards == 0;
}

/* Note whether PyTorch has reported the call of an optimizer that ends. */
static void
note_report(fd_session *session, const fd_thread *thread)
{
    fd_step_plan *plan = &session->step_plan;
    bool reported = thread->reports == 1 && plan->backwards == 0;
    plan->reported = reported ? plan->reported + 1 : 0;
    if (!reported && session->quiet.hides_steps) {
        fd_quiet_forget(session);
    }
}

static bool
backward_ended(fd_session *session)
{
    fd_step_plan *plan = &session->step_plan;
    plan->backwards -= plan->backwards > 0;
    bool ended = plan->pending && plan->backwards == 0;
    plan->pending = plan->pending && !ended;
    return ended;
}

/* Return how a call ended a step, or FD_STEPS_NONE. Only the outermost call
 * does: train_batch of an engine calls Optimizer.step, and one optimizer may
 * call another. */
static uint32_t
ended_step(fd_session *session, fd_thread *thread, uint16_t special)
{
    if ((special & FD_CODE_STEP) != 0) {
        return (special & FD_CODE_SCALER) != 0 ? FD_STEPS_PROFILER
                                               : FD_STEPS_EXPLICIT;
    }
    if ((special & FD_CODE_BACKWARD) != 0) {
        return backward_ended(session) ? FD_STEPS_OPTIMIZER : FD_STEPS_NONE;
    }
    if ((special & STEP_EVENTS) == 0 || thread->step_nesting > 0) {
        return FD_STEPS_NONE;
    }
    if ((special & FD_CODE_ENGINE) != 0) {
        return FD_STEPS_ENGINE;
    }
    note_report(session, thread);
    if (thread->reported) {
        return FD_STEPS_NONE;
    }
    return optimizer_ended(session, thread) ? FD_STEPS_OPTIMIZER
                                            : FD_STEPS_NONE;
}

static void
wait_returned(const fd_session *session, const fd_thread *thread)
{
    if (thread->session == session && thread->tree != NULL
        && thread->synced == fd_process_generation()) {
        fd_latest_returned(thread->tree);
    }
}

void
fd_events_returned(fd_thread *thread, uint16_t special)
{
    fd_session *session = fd_process_active();
    if ((special & STEP_EVENTS) != 0) {
        thread->step_nesting -= thread->step_nesting > 0;
    }
    if (session == NULL) {
        return;
    }
    if ((special & FD_CODE_WAITS) != 0) {
        wait_returned(session, thread);
        return;
    }
    uint64_t began = fd_clock_ticks();
    uint32_t source = ended_step(session, thread, special);
    if (source != FD_STEPS_NONE) {
        session->step_ended(session, thread, source);
        count_end_time(began);
    }
    session = fd_process_active();
    if (session != NULL && (special & FD_CODE_CHANGES) != 0) {
        fd_session_changed(session, thread);
    }
}

void
fd_events_demanded(fd_session *session, fd_thread *thread)
{
    uint64_t began = fd_clock_ticks();
    session->step_ended(session, thread, FD_STEPS_EXPLICIT);
    count_end_time(began);
}

/* Return the outermost frame of an optimizer up to the quiet call, or NULL. */
static fd_frame *
hidden_optimizer(fd_frame *frame)
{
    const fd_frame *quiet =
        fd_quiet.frame != NULL ? fd_quiet.frame : fd_quiet.open;
    fd_frame *found = NULL;
    while (frame != NULL && frame != quiet) {
        const fd_code *known = fd_code_known(fd_frame_code(frame));
        if (known != NULL && (known->special & FD_CODE_OPTIMIZER) != 0) {
            found = frame;
        }
        frame = fd_frame_python(frame->previous);
    }
    return frame != NULL ? found : NULL;
}

/* Handle a call of an optimizer that no hook has seen. */
static void
hidden_optimizer_ended(fd_session *session, fd_thread *thread, fd_frame *frame)
{
    fd_frame *caller = fd_frame_python(frame->previous);
    session->quiet.reporting = true;
    fd_events_called(thread, FD_CODE_OPTIMIZER, frame, caller);
    thread->reports = 1;
    fd_events_returned(thread, FD_CODE_OPTIMIZER);
    session = fd_process_active();
    if (session != NULL) {
        session->quiet.reporting = false;
    }
}

/* Handle the end of a call that a hook has seen, before the hook does: hidden
 * ones end at this place, and a recorded step has to begin and end at the same
 * one. */
static void
seen_optimizer_ended(fd_session *session, fd_thread *thread)
{
    thread->reported = true;
    if (optimizer_ended(session, thread)) {
        session->step_ended(session, thread, FD_STEPS_OPTIMIZER);
    }
}

void
fd_optimizer_heard(PyThreadState *state, fd_thread *thread)
{
    if (thread->unheard) {
        thread->unheard = false;
        fd_optimizer_reported(state);
    }
}

void
fd_optimizer_reported(PyThreadState *state)
{
    fd_session *session = fd_process_active();
    fd_thread *thread = fd_thread_self;
    if (session == NULL || thread == NULL) {
        return;
    }
    if (thread->busy) {
        thread->unheard = true;
        return;
    }
    uint64_t began = fd_clock_ticks();
    if (thread->step_nesting > 0) {
        if (++thread->reports == 1 && thread->step_nesting == 1
            && session->quiet.hides_steps) {
            seen_optimizer_ended(session, thread);
            count_end_time(began);
        }
        return;
    }
    fd_frame *frame = fd_frame_python(fd_frame_current(state));
    if (!session->running && thread == session->quiet.thread
        && (fd_quiet.frame != NULL || fd_quiet.open != NULL)) {
        frame = hidden_optimizer(frame);
        if (frame != NULL) {
            hidden_optimizer_ended(session, thread, frame);
            count_end_time(began);
        }
    }
}
