#include "capture/session/partial_steps.h"

#include "capture/frames/code_nodes.h"
#include "capture/frames/frame_walk.h"
#include "capture/frames/python_calls.h"
#include "capture/python/interpreters.h"
#include "capture/session/quiet_calls.h"
#include "recording/recording.h"

#include <errno.h>
#include <time.h>

enum {
    /* Programs that create code all the time would record every step. */
    FIRST_RESTS = 64,
    STEPS_PER_REST = 64,
    LONG_STEP = 8,     /* times the mean: longer ones are cut */
    WINDOWS = 100,     /* windows in the time of the patience */
    CALL_NS = 100,     /* assumed cost of a call, to choose the windows */
    MOST_SKIPPED = 64, /* one window in this many is recorded at least */
    /* To follow this many calls costs as much as to switch events of
     * sys.monitoring off and on. */
    CALLS_PER_SWITCH = PY_VERSION_HEX >= 0x030E0000 ? 20000 : 5000,
    LATE_MS = 2, /* a deadline that no Python call has noticed for this time */
    STILL_LATE = 16, /* times LATE_MS, while the pending call waits */
    /* CPython counts the threads of the process after a fork, and warns. */
    UNWATCHED_S = PY_VERSION_HEX >= 0x030C0000 ? 1 : 0,
    /* Recorded steps are compared with the eight before them: 9 ends. Reads
     * at the other ends would cost up to 4 us each. */
    ENDS_BESIDE = 9
};

/* Return the patience in ticks. */
static uint64_t
patience_ticks(const fd_partial_plan *plan)
{
    return (uint64_t)(plan->patience * fd_clock_hertz());
}

static void
set_deadline(fd_session *session, uint64_t tick)
{
    session->partial.deadline = tick;
    atomic_store_explicit(&fd_process.deadline, tick, memory_order_relaxed);
}

/* A pending call: handle a deadline that no Python call has noticed. CPython
 * runs it in the main thread, between two instructions. */
static int
notice_deadline(void *unused)
{
    (void)unused;
    int error = errno;
    fd_session *session = fd_process_active();
    atomic_store_explicit(&fd_process.called, false, memory_order_relaxed);
    if (session != NULL && fd_interpreter_is_main()) {
        fd_calls_keep_deadline(session);
    }
    errno = error;
    return 0;
}

static uint64_t
call_at_deadline(uint64_t now)
{
    uint64_t deadline = fd_process_deadline();
    uint64_t late = (uint64_t)(fd_clock_hertz() / 1000 * LATE_MS);
    uint64_t due = deadline < UINT64_MAX - late ? deadline + late : UINT64_MAX;
    if (due > now) {
        return due;
    }
    if (atomic_exchange_explicit(&fd_process.called, true,
                                 memory_order_relaxed)) {
        return now + STILL_LATE * late; /* in a long operator */
    }
    if (fd_frame_add_pending_call(notice_deadline) != 0) {
        atomic_store_explicit(&fd_process.called, false, memory_order_relaxed);
    }
    return now + late;
}

/* fd_thread_watch.alarm */
static uint64_t
watch_alarm(uint64_t now)
{
    uint64_t deadline = call_at_deadline(now);
    uint64_t long_call = fd_quiet_alarm(now);
    return deadline < long_call ? deadline : long_call;
}

/* Start the watch of a recording in a file, if it is not running. */
static void
start_watch(fd_session *session)
{
    if (session->hold != NULL) {
        session->watch.alarm = watch_alarm;
        session->watch.line_of = fd_frame_line_at;
        session->watch.calls_of = fd_frame_walk;
        fd_thread_watch_start(&session->watch, session->recording);
    }
}

/* A pending call: follow calls again, because the watch has ended. */
static int
follow_again(void *unused)
{
    (void)unused;
    fd_session *session = fd_process_active();
    if (session != NULL && !session->running && session->partial.watched) {
        fd_window_follow(session);
    }
    return 0;
}

void
fd_partial_forked(const fd_session *session)
{
    if (session->partial.watched) {
        Py_AddPendingCall(follow_again, NULL);
    }
    uint64_t soon =
        fd_clock_ticks() + UNWATCHED_S * (uint64_t)fd_clock_hertz();
    uint64_t deadline = session->partial.deadline;
    atomic_store_explicit(&fd_process.deadline,
                          soon < deadline ? soon : deadline,
                          memory_order_relaxed);
}

/* Note where the recorded part begins that ends after `ticks`. */
static void
open_part(fd_session *session, uint64_t ticks)
{
    fd_partial_plan *plan = &session->partial;
    plan->opened = fd_clock_ticks();
    plan->calls = fd_steps_calls(&session->steps);
    set_deadline(session, plan->opened + ticks);
}

void
fd_partial_start(fd_session *session)
{
    fd_partial_plan *plan = &session->partial;
    set_deadline(session, UINT64_MAX);
    if (plan->budget > 0) {
        plan->began = fd_clock_ticks();
        open_part(session, patience_ticks(plan));
    }
    start_watch(session); /* reads the deadline */
}

/* Return the ticks that a recorded step may take. */
static uint64_t
longest_step(const fd_session *session, uint64_t now)
{
    const fd_partial_plan *plan = &session->partial;
    uint64_t mean = (now - plan->began) / (session->step + 1);
    uint64_t longest = LONG_STEP * mean;
    return longest > patience_ticks(plan) ? longest : patience_ticks(plan);
}

/* Follow the calls of an unrecorded step, or leave them to the watch. */
static void
choose_followers(fd_session *session)
{
    bool watch = session->partial.budget > 0 && !session->on_hold
              && (session->partial.watched
                  || fd_thread_self->follows >= CALLS_PER_SWITCH);
    if (watch && !session->partial.watched) {
        fd_window_watch(session);
    }
    else if (!watch && session->partial.watched) {
        fd_window_follow(session);
    }
}

void
fd_partial_step(fd_session *session)
{
    uint64_t now = fd_clock_ticks();
    session->partial.first_ended =
        session->step == 1 ? now : session->partial.first_ended;
    start_watch(session);
    if (!session->running && fd_thread_self != NULL) {
        choose_followers(session);
    }
    set_deadline(session, session->partial.budget > 0 && session->running
                              ? now + longest_step(session, now)
                              : UINT64_MAX);
}

/* Return the processor time of this thread, ns. */
static uint64_t
thread_work(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool
fd_partial_is_decided(fd_session *session)
{
    fd_partial_plan *plan = &session->partial;
    uint64_t now = fd_clock_ticks();
    uint64_t duration = now - plan->step_began;
    plan->step_began = now;
    if (plan->decided == 0 || plan->watched != plan->watched_when_asked) {
        return false;
    }
    plan->decided--;
    plan->durations[plan->unasked] = duration;
    plan->worked[plan->unasked++] =
        plan->decided < ENDS_BESIDE ? thread_work() : 0;
    return true;
}

void
fd_partial_decide(fd_session *session, long steps)
{
    fd_partial_plan *plan = &session->partial;
    uint32_t room = FD_MOST_UNASKED - plan->unasked;
    plan->watched_when_asked = plan->watched;
    plan->decided = plan->budget == 0 || steps <= 0 ? 0
                  : steps > (long)room              ? room
                                                    : (uint32_t)steps - 1;
}

static void
drop_part(fd_session *session)
{
    const fd_header *header = fd_file_header(&session->recording->file);
    uint64_t before = header->recorded;
    fd_window_end(session);
    if (!session->stuck) {
        fd_steps_drop(&session->steps, header->recorded - before);
    }
    session->partial.rest = false;
    fd_window_follow(session);
}

void
fd_partial_end_rest(fd_session *session)
{
    drop_part(session);
    set_deadline(session, UINT64_MAX);
}

/* Windows are spread as steps are (record/budget.py). */
static bool
window_is_selected(uint32_t number, uint32_t rate)
{
    return number * UINT32_C(2654435769) < UINT32_MAX / rate;
}

/* Return for how many windows one is recorded, a power of two, by the calls in
 * the part that ends. */
static uint32_t
rate_of_windows(const fd_session *session, uint64_t now)
{
    const fd_partial_plan *plan = &session->partial;
    double hertz = fd_clock_hertz();
    double ns = (double)(now - plan->opened) / hertz * 1e9;
    uint64_t calls = fd_steps_calls(&session->steps) - plan->calls;
    double share = (double)calls * CALL_NS / ns;
    uint32_t rate = 1;
    while (rate < MOST_SKIPPED && share > plan->budget * rate) {
        rate *= 2;
    }
    return rate;
}

/* End a recorded window, and skip windows up to the next selected one. */
static void
end_window(fd_session *session)
{
    fd_partial_plan *plan = &session->partial;
    uint64_t now = fd_clock_ticks();
    uint32_t rate = rate_of_windows(session, now);
    uint64_t end = now;
    if (rate == 1) {
        open_part(session, patience_ticks(plan));
        return;
    }
    while (!window_is_selected(++plan->windows, rate)) {
        end += patience_ticks(plan) / WINDOWS;
    }
    if (end > now) {
        fd_window_end(session);
        fd_window_follow(session);
        set_deadline(session, end);
    }
    else {
        open_part(session, patience_ticks(plan) / WINDOWS);
    }
}

void
fd_partial_deadline_passed(fd_session *session)
{
    fd_partial_plan *plan = &session->partial;
    uint64_t deadline = plan->deadline;
    start_watch(session);
    set_deadline(session, deadline);
    if (fd_clock_ticks() <= deadline) {
        return; /* it was for the watch after a fork */
    }
    set_deadline(session, UINT64_MAX);
    if (plan->budget == 0 || session->on_hold) {
        return;
    }
    if (session->step > 0) {
        plan->cuts += !plan->rest;
        drop_part(session);
    }
    else if (session->running) {
        end_window(session);
    }
    else {
        fd_window_begin(session);
        open_part(session, patience_ticks(plan) / WINDOWS);
    }
}

bool
fd_partial_code_found(fd_session *session, const struct fd_code *known)
{
    fd_partial_plan *plan = &session->partial;
    fd_code_saw(known->code, session->serial, known->class_id);
    if (plan->budget == 0 || session->on_hold
        || plan->rests >= FIRST_RESTS + session->step / STEPS_PER_REST) {
        return false;
    }
    plan->rests++;
    plan->rest = session->step > 0;
    fd_window_begin(session);
    uint64_t now = fd_clock_ticks();
    open_part(session, plan->rest ? longest_step(session, now)
                                  : patience_ticks(plan) / WINDOWS);
    return true;
}
