/* The calls that are timed on the GPU, and the open timers of a thread. In one
 * step out of `every`, each selected call is enclosed by two timestamps on the
 * stream that is current when it begins.
 *
 *     open stack   train │ forward │ aten::linear │ aten::addmm
 *     open timers                   [ linear     ,  addmm ]
 *
 * Timers end with their entries. A timer whose entry was closed otherwise (a
 * new generation, a frame whose end no hook reported) is found at the start of
 * the next timer, dropped and counted. */
#ifndef FD_CALL_TIMERS_H
#define FD_CALL_TIMERS_H

#include "capture/state/session_state.h"

void fd_timer_plan_clear(fd_timer_plan *plan);

/* Whether Python calls matter in this step: they are timed, or the current
 * stream is read at their begin and end. */
static inline bool
fd_timers_frames(const fd_timer_plan *plan)
{
    return plan->sampling
        && (plan->functions || plan->modules || plan->globs.count > 0
            || plan->stream.function != NULL);
}

/* Store the current stream, at the begin or end of a Python call: see
 * current_stream.h. */
void fd_timers_update_stream(fd_thread *thread);

/* At the begin of a window of the schedule, and at the end of a step: decide
 * whether to sample the next step. True: hooks have to change. Both collect
 * complete intervals, also of earlier windows. Require the GIL. */
bool fd_timers_window(fd_session *session, fd_thread *thread);
bool fd_timers_step(fd_session *session, fd_thread *thread);

/* At the end of a window. Does not wait: later steps collect the timers that
 * the GPU has not passed yet. */
void fd_timers_pause(fd_session *session);

/* After the last window, outside of hooks: wait for the remaining timers, at
 * most `patience_ms`, without the GIL. -1 with an exception if a signal
 * handler raised one. */
int fd_timers_wait(fd_session *session, int patience_ms);

/* Count the remaining intervals as unfinished, and close the GPU. */
void fd_timers_close(fd_session *session);

/* Start the timer of the topmost entry, in a sampled step. `call`: its call
 * for execution traces; 0: none. */
void fd_timers_begin(fd_thread *thread, uint32_t call);

/* Before the end of the entry at `at`, and with `above` of those above it
 * except ranges: end their timers. Requires open timers. */
void fd_timers_end(fd_thread *thread, uint32_t at, bool above);

/* End the timers of entries that are about to end, if any. */
static inline void
fd_thread_end_timers(fd_thread *thread, uint32_t at, bool above)
{
    if (__builtin_expect(
            thread->timers != NULL && thread->timers->open.count > 0, false)) {
        fd_timers_end(thread, at, above);
    }
}

#endif
