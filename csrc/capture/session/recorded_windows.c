#include "capture/session/recorded_windows.h"

#include "capture/engines/engine_pipeline.h"
#include "capture/frames/constructors.h"
#include "capture/frames/frame_walk.h"
#include "capture/frames/python_calls.h"
#include "capture/hooks/c_calls.h"
#include "capture/hooks/collection_hook.h"
#include "capture/hooks/frame_hook.h"
#include "capture/hooks/monitor.h"
#include "capture/hooks/watched_steps.h"
#include "capture/operators/records.h"
#include "capture/session/quiet_calls.h"
#include "capture/timers/call_timers.h"
#include "recording/recording.h"

void
fd_window_hook(const fd_session *session, bool following)
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
        fd_watched_steps_end();
        if (fd_monitor_install(hook, NULL) != FD_OK) {
            fd_file_count(&session->recording->file, FD_COUNT_HOOK_LOST);
        }
    }
}

void
fd_window_remove_hook(const fd_session *session)
{
    if (session->calls == FD_CALLS_FRAME) {
        fd_frame_hook_remove();
    }
    else if (session->calls == FD_CALLS_MONITOR) {
        fd_monitor_remove();
        fd_watched_steps_close();
    }
}

void
fd_window_unhook(const fd_session *session)
{
    if (session->calls == FD_CALLS_MONITOR) {
        fd_monitor_pause();
        fd_watched_steps_end();
    }
    else {
        fd_window_remove_hook(session);
    }
}

void
fd_window_begin(fd_session *session)
{
    if (session->calls == FD_CALLS_FRAME) {
        fd_constructors_watch(); /* slow, so before the clock starts */
    }
    fd_recording_resume(session->recording);
    session->measures.began = fd_clock_ticks();
    fd_steps_begin(&session->steps, session->step, session->measures.began);
    session->running = true;
    session->unhooked = false;
    session->partial.watched = false;
    if (fd_thread_self != NULL) {
        session->partial.followed += fd_thread_self->serial == session->serial
                                       ? fd_thread_self->follows
                                       : 0;
        fd_thread_self->follows = 0;
    }
    fd_process_next_generation();
    fd_timers_window(session, fd_thread_self);
    if (fd_process_active() != session) {
        return;
    }
    fd_window_hook(session, false);
    if (session->c_calls) {
        fd_c_calls_switch(session, true);
    }
    fd_calls_ready(); /* adds the current frames of this thread */
    fd_collections_watch(session);
    if (session->ops == FD_OPS_RECORD) {
        fd_records_listen(session);
    }
}

void
fd_window_mark(const fd_session *session)
{
    fd_file_header(&session->recording->file)->state =
        session->partial.budget > 0 && !session->on_hold ? FD_STATE_FOLLOWING
                                                         : FD_STATE_PAUSED;
}

bool
fd_window_watch(fd_session *session)
{
    if (session->calls != FD_CALLS_MONITOR || !session->watch.running
        || !fd_frame_walk_is_possible() || !fd_watched_steps_begin()) {
        return false;
    }
    fd_process_next_generation();
    session->partial.watched = true;
    fd_recording_watch(session->recording);
    return true;
}

void
fd_window_follow(fd_session *session)
{
    session->partial.watched = false;
    PyThreadState *state = PyThreadState_Get();
    fd_quiet_choose(session);
    fd_process_next_generation();
    fd_window_hook(session, true);
    fd_window_mark(session);
    if (session->calls != FD_CALLS_OFF) {
        fd_calls_following(state, fd_frame_current(state), NULL);
    }
}

/* Disable the hooks first, because no thread may write after the recording is
 * settled. */
void
fd_window_end(fd_session *session)
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
    if (!session->stuck && thread != NULL && !session->partial.rest
        && thread->serial == session->serial) {
        fd_measure_plan_end(&session->measures, thread->tree, false);
    }
    if (session->pipeline != NULL && !session->stuck) {
        fd_pipeline_pause(session->pipeline);
    }
    fd_recording_pause(session->recording, !session->stuck);
}
