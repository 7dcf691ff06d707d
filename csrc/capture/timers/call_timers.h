/* Selection of calls that are timed on the GPU, and the open timers of a
 * thread. In a sampled step, each selected call is enclosed by two timestamps
 * on the stream that is current when it begins.
 *
 *     open stack   train │ [Block]:forward │ [Linear]:forward │ aten::linear
 *     open timers         [ Block         ,  Linear ]
 *
 * Timers end with their entries. A timer whose entry was closed otherwise (a
 * new generation, a frame whose end no hook reported) is found at the start of
 * the next timer, dropped and counted. */
#ifndef FD_CALL_TIMERS_H
#define FD_CALL_TIMERS_H

#include "capture/state/session_state.h"

void fd_timer_plan_clear(fd_timer_plan *plan);

/* Return whether forwards of modules are timed: also in place of kernels that
 * cannot be collected. */
static inline bool
fd_timers_modules(const fd_timer_plan *plan)
{
    return plan->modules || (plan->kernels && !plan->collecting);
}

/* Return whether Python calls matter in this step: they are timed, or the
 * current stream is read at their start and end. */
static inline bool
fd_timers_frames(const fd_timer_plan *plan)
{
    return plan->sampling
        && (plan->functions || fd_timers_modules(plan) || plan->globs.count > 0
            || plan->stream.function != NULL);
}

/* Store the current stream, at the start or end of a Python call: see
 * current_stream.h. */
void fd_timers_update_stream(fd_thread *thread);

/* Decide whether to sample the next step, at the start of a window of the
 * schedule and at the end of a step. Return true if hooks must change. Both
 * functions collect complete intervals, including those of earlier windows.
 * They require the GIL. */
bool fd_timers_window(fd_session *session, fd_thread *thread);
bool fd_timers_step(fd_session *session, fd_thread *thread);

/* End sampling at the end of a window. Does not wait: later steps collect the
 * timestamps that the GPU has not reached yet. */
void fd_timers_pause(fd_session *session);

/* Wait for the remaining timers, at most `patience_ms`, without the GIL. Call
 * it after the last window, outside of hooks. Return -1 with an exception if a
 * signal handler raised one. */
int fd_timers_wait(fd_session *session, int patience_ms);

/* Count the remaining intervals as unfinished, and close the GPU. */
void fd_timers_close(fd_session *session);

/* Start the timer of the topmost entry, in a sampled step. */
void fd_timers_begin(fd_thread *thread);

/* End the timer of the entry at index `at`, before the entry ends; with
 * `above`, also the timers above it except those of ranges. Requires open
 * timers. */
void fd_timers_end(fd_thread *thread, uint32_t at, bool above);

/* Handle the start of a Python call whose entry is topmost, and its end. */
static inline void
fd_timers_entered(fd_thread *thread)
{
    if (fd_timers_frames(&thread->session->timers)) {
        fd_timers_update_stream(thread);
        fd_timers_begin(thread);
    }
}

static inline void
fd_timers_left(fd_thread *thread)
{
    if (fd_timers_frames(&thread->session->timers)) {
        fd_timers_update_stream(thread);
    }
}

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
