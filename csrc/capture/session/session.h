/* Start, stop, steps and fork of sessions. At most one session is active in a
 * process. */
#ifndef FD_SESSION_H
#define FD_SESSION_H

#include "capture/state/session_state.h"

/* The results of a schedule: values of torch.profiler.ProfilerAction. */
enum {
    FD_ACTION_NONE = 0,
    FD_ACTION_WARMUP = 1,
    FD_ACTION_RECORD = 2,
    FD_ACTION_SAVE = 3
};

/* Create a session that records to file `path` in a folder. If `folder` is
 * NULL, `path` is a complete path; if `path` is NULL, record in memory. */
fd_status fd_session_open(fd_session **session, const fd_folder *folder,
                          const char *path, size_t max_mb, bool timed,
                          fd_error *error);

/* Make the session active and record its first step, if its schedule selects
 * it. Return FD_ECONFLICT with a message if another session is active or
 * sys.monitoring has no free tool id. Requires the GIL, like all functions
 * below. */
fd_status fd_session_start(fd_session *session, fd_error *error);

/* Stop for good: remove the hooks and complete the times. Facts can still be
 * added. */
void fd_session_stop(fd_session *session);

/* Close the file of a stopped session. */
void fd_session_finish(fd_session *session);

/* Handle the end of a step, reported by `source` (FD_STEPS_*). */
void fd_session_step(fd_session *session, fd_thread *thread, uint32_t source);

/* Start recording in step `step`, or stop and remove the hooks until the next
 * call. Only for an active session without a schedule. */
void fd_session_record(fd_session *session, bool record, uint64_t step);

/* Drop the references of a session to objects, except the type of tensors. */
void fd_session_drop_objects(fd_session *session);

/* Free a session as soon as possible, after its owner has released it. */
void fd_session_retire(fd_session *session);

/* Install the fork handlers, once per process. Return -1 with an exception on
 * failure. */
int fd_session_init(void);

/* Remove the hooks in a forked child, with the GIL. */
void fd_session_forked(void);

#endif
