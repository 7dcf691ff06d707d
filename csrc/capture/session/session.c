#include "capture/session/session.h"

#include "base/alloc.h"
#include "capture/engines/engine_pipeline.h"
#include "capture/frames/constructors.h"
#include "capture/hooks/c_calls.h"
#include "capture/hooks/collection_hook.h"
#include "capture/hooks/frame_hook.h"
#include "capture/hooks/monitor.h"
#include "capture/hooks/watched_steps.h"
#include "capture/memory/memory_reports.h"
#include "capture/operators/records.h"
#include "capture/process/guard.h"
#include "capture/session/partial_steps.h"
#include "capture/session/quiet_calls.h"
#include "capture/timers/call_timers.h"
#include "recording/recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 200 /* between looks for the file `hold` */ };

static void
free_session(fd_session *session)
{
    if (session == NULL) {
        return;
    }
    fd_paths_clear(&session->paths);
    fd_operators_clear(&session->operators);
    fd_operators_clear(&session->schemas);
    fd_operators_clear(&session->comm_texts);
    fd_origins_clear(&session->origins);
    fd_vector_clear(&session->c_functions);
    fd_map_clear(&session->c_function_at);
    fd_map_clear(&session->nodes);
    fd_map_clear(&session->models);
    fd_map_clear(&session->owners);
    fd_map_clear(&session->quiet.calls);
    fd_map_clear(&session->measures.operators);
    fd_rounds_clear(&session->step_plan.rounds);
    fd_objects_clear(&session->step_plan.optimizers);
    fd_pipeline_free(session->pipeline);
    /* Must precede the end of the recording, to which it writes. */
    fd_timer_plan_clear(&session->timers);
    fd_memory_reports_free(session);
    fd_thread_watch_clear(&session->watch);
    if (session->recording != NULL) {
        fd_recording_free(session->recording);
    }
    fd_free(session->hold);
    fd_free(session);
}

/* Free retired sessions. Waits for sections, because a thread may still be in
 * one without the GIL. */
static void
free_retired(void)
{
    const fd_thread *thread = fd_thread_self;
    if (fd_process.pins > 0 || fd_process.retired == NULL
        || !fd_sections_wait(thread != NULL ? &thread->section : NULL)) {
        return;
    }
    fd_session **link = &fd_process.retired;
    while (*link != NULL) {
        fd_session *session = *link;
        if (session->stuck) {
            link = &session->next;
            continue;
        }
        *link = session->next;
        free_session(session);
    }
}

/* Return "rank00000.fd.off", and remove such a file of an earlier run. */
static char *
hold_path(const char *path)
{
    static const char ending[] = ".off";
    size_t size = strlen(path);
    char *hold = fd_malloc(size + sizeof ending);
    if (hold != NULL) {
        memcpy(hold, path, size);
        memcpy(hold + size, ending, sizeof ending);
        unlink(hold);
    }
    return hold;
}

/* End a recorded step. */
static void
end_step(fd_session *session, const fd_thread *thread, uint32_t source)
{
    fd_measure_plan *plan = &session->measures;
    if (plan->kinds != 0
        && source > fd_file_header(&session->recording->file)->steps_source) {
        fd_measure_plan_discard(thread->tree);
        fd_memory_reports_discard(session);
    }
    session->steps.live = fd_memory_reports_live(session);
    if (fd_steps_end(&session->steps, thread->tree, source)) {
        fd_measure_plan_end(plan, thread->tree, true);
        fd_memory_reports_step(session, thread->tree);
    }
}

fd_status
fd_session_open(fd_session **session, const fd_folder *folder,
                const char *path, size_t max_mb, bool timed, fd_error *error)
{
    free_retired();
    fd_session *made = fd_calloc(1, sizeof *made);
    if (made == NULL) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    fd_limits limits = fd_limits_of(max_mb);
    fd_status status =
        folder != NULL
            ? fd_recording_open_in(&made->recording, folder, path, &limits,
                                   error)
            : fd_recording_open(&made->recording, path, &limits, error);
    if (status == FD_OK && path != NULL) {
        made->hold = hold_path(made->recording->file.path);
        status = made->hold == NULL
                   ? fd_fail(error, FD_ENOMEM, "out of memory")
                   : FD_OK;
    }
    if (status != FD_OK) {
        free_session(made);
        return status;
    }
    made->serial = ++fd_process.sessions;
    made->timed = timed;
    made->step_ended = fd_session_step;
    made->code_found = fd_partial_code_found;
    made->deadline_passed = fd_partial_deadline_passed;
    fd_file_header(&made->recording->file)->timing = timed;
    fd_steps_init(&made->steps, made->recording);
    fd_asyncs_init(&made->asyncs);
    *session = made;
    return FD_OK;
}

/* Return the action of the schedule for the running step, or RECORD if it
 * raises. */
static long
scheduled_action(fd_session *session, fd_thread *thread)
{
    if (session->on_hold) {
        return FD_ACTION_NONE;
    }
    if (session->schedule == NULL) {
        return FD_ACTION_RECORD;
    }
    if (fd_partial_is_decided(session)) {
        return FD_ACTION_NONE;
    }
    uint64_t began = fd_clock_ticks();
    PyObject *step = PyLong_FromUnsignedLongLong(session->step);
    PyObject *result = step == NULL ? NULL
                                    : fd_session_call(session, thread,
                                                      session->schedule, step);
    session->partial.asked = fd_clock_ticks() - began;
    fd_guard guard = fd_guard_enter_open(thread);
    PyObject *number = result == NULL ? NULL : PyNumber_Index(result);
    if (number == NULL && result != NULL) {
        PyErr_Clear(); /* torch.profiler.ProfilerAction is an Enum */
        number = PyObject_GetAttrString(result, "value");
    }
    long value = number == NULL ? FD_ACTION_RECORD : PyLong_AsLong(number);
    PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(result);
    Py_XDECREF(step);
    fd_guard_leave(&guard);
    fd_partial_decide(session,
                      value < -FD_MOST_UNASKED ? FD_MOST_UNASKED : -value);
    return value < FD_ACTION_NONE ? FD_ACTION_NONE : value;
}

static fd_status
claim_sources(fd_session *session, fd_error *error)
{
    fd_status status = session->calls == FD_CALLS_MONITOR
                         ? fd_monitor_install(FD_HOOK_FOLLOWING, error)
                         : FD_OK;
    if (status == FD_OK && session->c_calls) {
        status = fd_c_calls_open(session, error);
    }
    if (status != FD_OK) {
        fd_window_remove_hook(session);
    }
    return status;
}

fd_status
fd_session_start(fd_session *session, fd_error *error)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL) {
        return FD_ENOMEM;
    }
    if (fd_process_active() != NULL) {
        return fd_fail(error, FD_ECONFLICT,
                       "this process is recording already: stop the running "
                       "CallGraph first");
    }
    /* last, because it may fail */
    fd_status status = claim_sources(session, error);
    if (status != FD_OK) {
        return status;
    }
    fd_process_activate(session, session->serial);
    fd_partial_start(session);
    session->wanted = scheduled_action(session, thread);
    if (fd_process_active() != session) {
        return FD_OK; /* its schedule stopped it */
    }
    if (session->wanted >= FD_ACTION_RECORD) {
        fd_window_begin(session);
    }
    else {
        fd_recording_pause(session->recording, true);
        fd_window_follow(session);
    }
    return FD_OK;
}

static bool
is_active(const fd_session *session)
{
    return fd_process_active() == session;
}

void
fd_session_stop(fd_session *session)
{
    if (fd_process_active() != session) {
        return;
    }
    if (session->running) {
        fd_window_end(session);
    }
    fd_process_activate(NULL, 0);
    fd_process_next_generation();
    fd_thread_watch_end(&session->watch);
    fd_memory_reports_end(session);
    fd_window_remove_hook(session);
    fd_c_calls_close();
    fd_constructors_release();
    fd_recording_stop(session->recording, !session->stuck);
}

void
fd_session_finish(fd_session *session)
{
    if (fd_process_active() != session) {
        fd_timers_close(session);
        fd_file_finish(&session->recording->file);
    }
}

/* Call on_ready if a recorded window has ended. */
static void
window_ended(fd_session *session, fd_thread *thread, long ended)
{
    if (ended == FD_ACTION_SAVE && session->on_ready != NULL) {
        Py_XDECREF(fd_session_call(session, thread, session->on_ready, NULL));
    }
}

/* Apply the schedule to the next step. The schedule and the callback at the
 * end of a window may both stop the session. */
static void
apply_schedule(fd_session *session, fd_thread *thread, long ended)
{
    session->wanted = scheduled_action(session, thread);
    bool record = session->wanted >= FD_ACTION_RECORD;
    if (is_active(session) && session->running
        && (!record || ended == FD_ACTION_SAVE)) {
        fd_window_end(session);
        window_ended(session, thread, ended);
        if (!record && is_active(session)) {
            fd_window_follow(session);
        }
    }
    if (is_active(session) && !session->running) {
        if (record) {
            fd_window_begin(session);
        }
        else {
            fd_window_mark(session);
        }
    }
}

/* Install the hook again if it was removed: a hook that was installed while
 * another tool had set the evaluator is removed when that tool restores the
 * previous one. */
static void
keep_hook(const fd_session *session)
{
    if (session->calls == FD_CALLS_FRAME && !session->unhooked
        && fd_frame_hook_is_lost()) {
        fd_file_count(&session->recording->file, FD_COUNT_HOOK_LOST);
        fd_window_hook(session, !session->running);
    }
}

/* Return whether file `hold` was created or removed since the last look. That
 * costs up to 20 us, so short unrecorded steps do not look. */
static bool
hold_changed(fd_session *session)
{
    uint64_t now = fd_clock_ticks();
    double ms = (double)(now - session->hold_looked) / fd_clock_hertz() * 1e3;
    if (!session->running && !session->on_hold && ms < LOOK_MS) {
        return false;
    }
    session->hold_looked = now;
    int error = errno;
    bool on_hold = session->hold != NULL && access(session->hold, F_OK) == 0;
    bool changed = on_hold != session->on_hold;
    session->on_hold = on_hold;
    errno = error;
    return changed;
}

/* Decide whether to sample the next step. Evaluators change under the GIL.
 */
static void
sample_step(fd_session *session, fd_thread *thread)
{
    if (is_active(session) && fd_timers_step(session, thread)
        && is_active(session) && session->running) {
        fd_window_hook(session, false);
    }
}

/* Return whether the end of a step by `source` counts. If many steps of others
 * end without one of torch.profiler, it profiled a part of the run, and theirs
 * count from then on. */
static bool
source_counts(fd_step_plan *plan, fd_header *header, uint32_t source)
{
    enum { MANY = 8 };
    if (source == FD_STEPS_PROFILER) {
        plan->most_ends = plan->other_ends > plan->most_ends ? plan->other_ends
                                                             : plan->most_ends;
        plan->other_ends = 0;
    }
    else if (header->steps_source == FD_STEPS_PROFILER
             && plan->other_ends >= MANY * (plan->most_ends + 1)) {
        plan->profiler_ended = true;
        header->steps_source = FD_STEPS_NONE;
    }
    plan->other_ends += source != FD_STEPS_PROFILER;
    return source >= header->steps_source
        && (source != FD_STEPS_PROFILER || !plan->profiler_ended);
}

/* Record the end of the first step of a source, which discards others. */
static void
record_first(fd_session *session)
{
    if (!session->running && session->partial.budget > 0 && !session->on_hold
        && fd_file_header(&session->recording->file)->steps > 0) {
        fd_window_begin(session);
    }
}

void
fd_session_step(fd_session *session, fd_thread *thread, uint32_t source)
{
    fd_header *header = fd_file_header(&session->recording->file);
    if (thread->busy) {
        return;
    }
    fd_quiet_step(session, thread);
    if (!source_counts(&session->step_plan, header, source)) {
        sample_step(session, thread); /* steps are ended by another source */
        return;
    }
    keep_hook(session);
    bool stronger = source > header->steps_source;
    if (stronger) {
        session->partial.decided = 0;
        session->partial.unasked = 0;
        record_first(session);
    }
    if (!is_active(session)) {
        return;
    }
    if (session->running && thread->serial == session->serial
        && thread->tree != NULL) {
        session->partial.rest = session->partial.rest && !stronger;
        if (session->partial.rest) {
            fd_partial_end_rest(session);
        }
        else {
            end_step(session, thread, source);
        }
    }
    else if (session->step == 0 && session->partial.windows > 0) {
        session->partial.cuts++; /* it ended outside of the recorded windows */
    }
    header->steps_source = source;
    session->step = stronger ? 1 : session->step + 1;
    header->run_steps = session->step;
    if (hold_changed(session) || session->schedule != NULL) {
        apply_schedule(session, thread, session->wanted);
    }
    if (is_active(session)) {
        fd_partial_step(session);
    }
    sample_step(session, thread);
}

void
fd_session_record(fd_session *session, bool record, uint64_t step)
{
    if (session->partial.budget > 0) {
        session->partial.budget = 0;
        session->partial.rest = false;
        Py_CLEAR(session->schedule);
    }
    if (fd_process_active() != session || session->schedule != NULL
        || session->on_hold) {
        return;
    }
    if (!record && session->running) {
        fd_window_end(session);
        fd_window_unhook(session);
        session->unhooked = true;
    }
    else if (record && !session->running) {
        session->step = step;
        fd_window_begin(session);
    }
    else if (record && session->steps.number != step) {
        session->step = step;
        fd_steps_begin(&session->steps, step, fd_clock_ticks());
    }
}

void
fd_session_drop_objects(fd_session *session)
{
    Py_CLEAR(session->keep);
    Py_CLEAR(session->schedule);
    Py_CLEAR(session->on_change);
    Py_CLEAR(session->on_ready);
    Py_CLEAR(session->step_plan.on_site);
    Py_CLEAR(session->on_model);
    Py_CLEAR(session->error);
    Py_CLEAR(session->timers.in_use);
    Py_CLEAR(session->timers.is_profiled);
    if (session->pipeline != NULL) {
        Py_CLEAR(session->pipeline->on_pipeline);
    }
}

void
fd_session_retire(fd_session *session)
{
    fd_instances_clear(&session->instances);
    fd_session_drop_objects(session);
    Py_CLEAR(session->tensor);
    fd_current_stream_clear(&session->timers.stream);
    session->next = fd_process.retired;
    fd_process.retired = session;
    free_retired();
}

static void
before_fork(void)
{
    fd_process.forking = fd_process_active();
    if (fd_process.forking != NULL) {
        fd_thread_watch_end(&fd_process.forking->watch);
    }
    fd_sections_before_fork();
    if (fd_process.forking != NULL) {
        fd_memory_reports_lock(fd_process.forking, true);
        pthread_mutex_lock(&fd_process.forking->recording->lock);
    }
}

static void
after_fork_in_parent(void)
{
    if (fd_process.forking != NULL) {
        pthread_mutex_unlock(&fd_process.forking->recording->lock);
        fd_memory_reports_lock(fd_process.forking, false);
        fd_partial_forked(fd_process.forking);
    }
    fd_sections_after_fork_in_parent();
}

/* Detach the mapping first: a call recorded in the child would be in the file
 * of the parent. */
static void
after_fork_in_child(void)
{
    if (fd_process.forking != NULL) {
        fd_recording_detach(fd_process.forking->recording);
        fd_process_activate(NULL, 0);
        fd_process_next_generation();
        pthread_mutex_unlock(&fd_process.forking->recording->lock);
        fd_memory_reports_lock(fd_process.forking, false);
    }
    fd_process.pins = fd_thread_self != NULL ? fd_thread_self->pins : 0;
    fd_thread_forked();
}

int
fd_session_init(void)
{
    fd_sections_init();
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child)
        != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return fd_collections_init();
}

void
fd_session_forked(void)
{
    fd_frame_hook_remove();
    fd_monitor_remove();
    fd_watched_steps_close();
    fd_c_calls_close();
    fd_collections_ignore();
    fd_constructors_release();
    fd_memory_reports_ignore();
}
