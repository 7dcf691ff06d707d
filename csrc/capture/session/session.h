/* One recording session: a recording and what capture needs to fill it. At
 * most one session is active in a process. */
#ifndef FD_SESSION_H
#define FD_SESSION_H

#include "capture/state/session_state.h"

/* What a schedule returns for a step: the values of
 * torch.profiler.ProfilerAction. */
enum {
    FD_ACTION_NONE = 0,
    FD_ACTION_WARMUP = 1,
    FD_ACTION_RECORD = 2,
    FD_ACTION_SAVE = 3
};

/* A session that records under a name in a folder; by a path where `folder` is
 * NULL; in memory when `path` is NULL. */
fd_status fd_session_open(fd_session **session, const fd_folder *folder,
                          const char *path, size_t max_mb, bool timed,
                          fd_error *error);

/* Make the session the active one and record its first step, if its schedule
 * says so. FD_ECONFLICT, with a message, when another session is active
 * or sys.monitoring has no free tool id. Needs the GIL, as all below. */
fd_status fd_session_start(fd_session *session, fd_error *error);

/* Stop for good: remove hooks, complete times. Notes can still be added. */
void fd_session_stop(fd_session *session);

/* Close the file of a stopped session. */
void fd_session_finish(fd_session *session);

/* A step ended, as seen through `source` (FD_STEPS_*). */
void fd_session_step(fd_session *session, fd_thread *thread, uint32_t source);

/* Record from now on, in step `step`, or nothing until the next call, without
 * a hook. Of an active session without a schedule. */
void fd_session_record(fd_session *session, bool record, uint64_t step);

/* The owner has released the session: free it as soon as that is
 * allowed. */
void fd_session_retire(fd_session *session);

/* Once per process: hooks for fork. -1 with an exception. */
int fd_session_init(void);

/* In a forked child, with the GIL: the evaluator is removed, too. */
void fd_session_forked(void);

#endif
