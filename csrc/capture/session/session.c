#include "capture/session/session.h"

#include "base/alloc.h"
#include "capture/engines/engine_pipeline.h"
#include "capture/frames/constructors.h"
#include "capture/frames/python_calls.h"
#include "capture/hooks/c_calls.h"
#include "capture/hooks/collection_hook.h"
#include "capture/hooks/frame_hook.h"
#include "capture/hooks/monitor.h"
#include "capture/memory/memory_reports.h"
#include "capture/operators/records.h"
#include "capture/process/guard.h"
#include "capture/timers/call_timers.h"
#include "recording/recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
    fd_c_functions_clear(&session->c_functions);
    fd_map_clear(&session->nodes);
    fd_map_clear(&session->models);
    fd_map_clear(&session->owners);
    fd_map_clear(&session->measures.operators);
    fd_rounds_clear(&session->step_plan.rounds);
    fd_pipeline_free(session->pipeline);
    /* Must precede the end of the recording, to which it writes. */
    fd_timer_plan_clear(&session->timers);
    fd_memory_reports_free(session);
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

/* End a step. Any thread may call it, inside its section or with the GIL. */
static void
end_step(fd_session *session, const fd_thread *thread, uint32_t source)
{
    fd_measure_plan *plan = &session->measures;
    if (session->rest) {
        return;
    }
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

static bool code_found(fd_session *session, const fd_code *known);

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
    made->end_step = end_step;
    made->code_found = code_found;
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
    PyObject *step = PyLong_FromUnsignedLongLong(session->step);
    PyObject *result = step == NULL ? NULL
                                    : fd_session_call(session, thread,
                                                      session->schedule, step);
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
    return value;
}

static void
install_hook(const fd_session *session, bool following)
{
    fd_hook hook = following                          ? FD_HOOK_FOLLOWING
                 : fd_timers_frames(&session->timers) ? FD_HOOK_GPU
                 : session->recording->timeline.on    ? FD_HOOK_TIMELINE
                 : session->timed                     ? FD_HOOK_TIMED
                                                      : FD_HOOK_COUNTED;
    if (session->calls == FD_CALLS_FRAME) {
        fd_frame_hook_install(hook);
    }
    else if (session->calls == FD_CALLS_MONITOR) {
        if (fd_monitor_install(hook, NULL) != FD_OK) {
            fd_file_count(&session->recording->file, FD_COUNT_HOOK_LOST);
        }
    }
}

static void
uninstall_hook(const fd_session *session)
{
    if (session->calls == FD_CALLS_FRAME) {
        fd_frame_hook_remove();
    }
    else if (session->calls == FD_CALLS_MONITOR) {
        fd_monitor_remove();
    }
}

/* Disable the hooks temporarily, but keep the tool id of sys.monitoring. */
static void
unhook_session(const fd_session *session)
{
    if (session->calls == FD_CALLS_MONITOR) {
        fd_monitor_pause();
    }
    else {
        uninstall_hook(session);
    }
}

static void
resume_recording(fd_session *session)
{
    if (session->calls == FD_CALLS_FRAME) {
        fd_constructors_watch(); /* slow, so before the clock starts */
    }
    fd_recording_resume(session->recording);
    session->measures.began = fd_clock_ticks();
    fd_steps_begin(&session->steps, session->step, session->measures.began);
    session->running = true;
    session->unhooked = false;
    fd_process_next_generation();
    fd_timers_window(session, fd_thread_self);
    if (fd_process_active() != session) {
        return;
    }
    install_hook(session, false);
    if (session->c_calls) {
        fd_c_calls_switch(session, true);
    }
    fd_calls_ready(); /* adds the current frames of this thread */
    fd_collections_watch(session);
    if (session->ops == FD_OPS_RECORD) {
        fd_records_listen(session);
    }
}

/* An unrecorded step of a budget is part of a running recording. */
static void
mark_state(const fd_session *session)
{
    fd_file_header(&session->recording->file)->state =
        session->budgeted && !session->on_hold ? FD_STATE_FOLLOWING
                                               : FD_STATE_PAUSED;
}

/* Keep the stacks of open calls while nothing is recorded. */
static void
follow_calls(const fd_session *session)
{
    PyThreadState *state = PyThreadState_Get();
    fd_process_next_generation();
    install_hook(session, true);
    mark_state(session);
    if (session->calls != FD_CALLS_OFF) {
        fd_calls_following(state, fd_frame_current(state), NULL);
    }
}

/* Disable the hooks first, because no thread may write after the recording is
 * settled. */
static void
pause_recording(fd_session *session)
{
    const fd_thread *thread = fd_thread_self;
    session->running = false;
    fd_process_next_generation();
    if (session->c_calls) {
        fd_c_calls_switch(session, false);
    }
    fd_collections_ignore();
    fd_records_ignore(session);
    session->stuck |=
        !fd_sections_wait(thread != NULL ? &thread->section : NULL);
    fd_asyncs_forget(&session->asyncs, &session->recording->file);
    fd_timers_pause(session);
    if (!session->stuck && thread != NULL && !session->rest
        && thread->serial == session->serial) {
        fd_measure_plan_end(&session->measures, thread->tree, false);
    }
    if (session->pipeline != NULL && !session->stuck) {
        fd_pipeline_pause(session->pipeline);
    }
    fd_recording_pause(session->recording, !session->stuck);
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
        uninstall_hook(session);
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
    session->wanted = scheduled_action(session, thread);
    if (fd_process_active() != session) {
        return FD_OK; /* its schedule stopped it */
    }
    if (session->wanted >= FD_ACTION_RECORD) {
        resume_recording(session);
    }
    else {
        fd_recording_pause(session->recording, true);
        follow_calls(session);
    }
    return FD_OK;
}

void
fd_session_stop(fd_session *session)
{
    if (fd_process_active() != session) {
        return;
    }
    if (session->running) {
        pause_recording(session);
    }
    fd_process_activate(NULL, 0);
    fd_process_next_generation();
    fd_memory_reports_end(session);
    uninstall_hook(session);
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

static bool
is_active(const fd_session *session)
{
    return fd_process_active() == session;
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
        pause_recording(session);
        window_ended(session, thread, ended);
        if (!record && is_active(session)) {
            follow_calls(session);
        }
    }
    if (is_active(session) && !session->running) {
        if (record) {
            resume_recording(session);
        }
        else {
            mark_state(session);
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
        install_hook(session, !session->running);
    }
}

/* Return whether file `hold` was created or removed since the last step. Costs
 * one system call. */
static bool
hold_changed(fd_session *session)
{
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
        install_hook(session, false);
    }
}

/* End a step of which only the rest was recorded. */
static void
end_rest(fd_session *session, const fd_thread *thread)
{
    pause_recording(session);
    if (!session->stuck) {
        fd_steps_drop(&session->steps, thread->tree);
    }
    session->rest = false;
    follow_calls(session);
}

/* Programs that create code all the time would record every step. */
enum { FIRST_RESTS = 64, STEPS_PER_REST = 64 };

static bool
code_found(fd_session *session, const fd_code *known)
{
    fd_code_saw(known->code, session->serial, known->class_id);
    if (!session->budgeted || session->on_hold
        || session->rests >= FIRST_RESTS + session->step / STEPS_PER_REST) {
        return false;
    }
    session->rests++;
    session->rest = true;
    resume_recording(session);
    return true;
}

void
fd_session_step(fd_session *session, fd_thread *thread, uint32_t source)
{
    fd_header *header = fd_file_header(&session->recording->file);
    if (thread->busy) {
        return;
    }
    if (source < header->steps_source) {
        sample_step(session, thread); /* steps are ended by another source */
        return;
    }
    keep_hook(session);
    bool stronger = source > header->steps_source;
    if (session->running && thread->serial == session->serial
        && thread->tree != NULL) {
        session->rest = session->rest && !stronger;
        if (session->rest) {
            end_rest(session, thread);
        }
        else {
            end_step(session, thread, source);
        }
    }
    header->steps_source = source;
    session->step = stronger ? 1 : session->step + 1;
    header->run_steps = session->step;
    if (hold_changed(session) || session->schedule != NULL) {
        apply_schedule(session, thread, session->wanted);
    }
    sample_step(session, thread);
}

void
fd_session_record(fd_session *session, bool record, uint64_t step)
{
    if (session->budgeted) {
        session->budgeted = false;
        session->rest = false;
        Py_CLEAR(session->schedule);
    }
    if (fd_process_active() != session || session->schedule != NULL
        || session->on_hold) {
        return;
    }
    if (!record && session->running) {
        pause_recording(session);
        unhook_session(session);
        session->unhooked = true;
    }
    else if (record && !session->running) {
        session->step = step;
        resume_recording(session);
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
