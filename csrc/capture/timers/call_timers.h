/* Which calls are timed on the GPU, and what a thread has begun of that. In
 * one step out of `every`, each chosen call is put between two timers on the
 * stream that is current when it begins.
 *
 *     open stack   train │ forward │ aten::linear │ aten::addmm
 *     open timers                   [ linear     ,  addmm ]
 *
 * Timers end with their entries. One whose entry was closed without it (a new
 * generation, a frame that no hook saw end) is found at the start of the next
 * timer, dropped and counted: so nothing else has to know of timers. */
#ifndef FD_CALL_TIMERS_H
#define FD_CALL_TIMERS_H

#include "capture/state/session_state.h"

void fd_timer_plan_clear(fd_timer_plan *plan);

/* Whether Python calls matter in this step: they are timed, or are where the
 * current stream can be asked for. */
static inline bool
fd_timers_frames(const fd_timer_plan *plan)
{
    return plan->sampling
        && (plan->functions || plan->modules || plan->globs.count > 0
            || plan->stream.function != NULL);
}

/* A Python call begins or ends: see current_stream.h. */
void fd_timers_look(fd_thread *thread);

/* A window of the schedule begins, a step ends: whether the next one is
 * sampled. True: hooks have to change. Needs the GIL. Both collect the
 * intervals that are complete by now, those of earlier windows included. */
bool fd_timers_window(fd_session *session, fd_thread *thread);
bool fd_timers_step(fd_session *session, fd_thread *thread);

/* The window ends. Does not wait: later steps collect the timers that the GPU
 * has not passed yet. */
void fd_timers_pause(fd_session *session);

/* After the last window, outside all hooks: wait for the remaining timers, at
 * most `patience_ms`, without the GIL. -1 with an exception if a signal
 * handler raised one. */
int fd_timers_wait(fd_session *session, int patience_ms);

/* Count the remaining intervals as unfinished, and close the GPU. */
void fd_timers_close(fd_session *session);

/* The topmost entry has just been opened, in a sampled step. `call`: what it
 * is for execution traces; 0: nothing. */
void fd_timers_begin(fd_thread *thread, uint32_t call);

/* The entry at `at` is about to end; `above`: so are those above it, except
 * for ranges. There are open timers. */
void fd_timers_end(fd_thread *thread, uint32_t at, bool above);

/* Entries are about to end: so do their timers on the GPU, if there are any. */
static inline void
fd_thread_end_timers(fd_thread *thread, uint32_t at, bool above)
{
    if (__builtin_expect(
            thread->timers != NULL && thread->timers->open.count > 0, false)) {
        fd_timers_end(thread, at, above);
    }
}

#endif
