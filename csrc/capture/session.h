/* One recording session: a recording and what capture needs to fill it. At
 * most one session is active in a process. */
#ifndef FD_SESSION_H
#define FD_SESSION_H

#include "capture/engines/engine_pipeline.h"
#include "capture/frames/instances.h"
#include "capture/labels.h"
#include "capture/module_paths.h"
#include "capture/operators/async_calls.h"
#include "capture/operators/operators.h"
#include "capture/operators/origins.h"
#include "capture/thread.h"
#include "recording/step_table.h"

typedef enum fd_calls_source {
    FD_CALLS_OFF,
    FD_CALLS_FRAME,
    FD_CALLS_MONITOR
} fd_calls_source;

typedef enum fd_ops_source {
    FD_OPS_OFF,
    FD_OPS_RECORD,
    FD_OPS_DISPATCH
} fd_ops_source;

/* Who may touch a session and its recording, and until when:
 *  1. A thread without the GIL does so inside its section (base/sections.h),
 *     after it has compared the generation there; a thread with the GIL does
 *     so while it keeps it, and compares the generation again after anything
 *     that may have run Python code.
 *  2. Whoever ends a window holds the GIL, changes the generation and waits
 *     until all sections have been left: from there to the next generation the
 *     trees of all threads and all that hangs on the session are its own.
 *  3. Memory goes when the session is retired, all sections have been left
 *     once more, and no guard (guard.h) is open on any thread. */
typedef struct fd_session {
    struct fd_session *next; /* of the retired ones */
    uint32_t serial;         /* tells it from a freed one at its address */
    fd_recording *recording; /* owned */
    fd_steps steps;
    fd_paths paths;
    fd_instances instances;
    fd_operators operators;
    fd_operators schemas; /* the same, to texts: for execution traces */
    fd_origins origins;
    fd_asyncs asyncs;
    fd_marks_plan marks;
    fd_engine_pipeline
        *pipeline; /* owned; NULL where the timeline has no jobs */
    fd_map nodes;  /* code id << 32 | class id -> node */
    fd_map models; /* address of a module that on_model was told -> 1 */
    bool fold;     /* imports and compilers in one <folded> */
    bool timed;
    _Atomic bool running; /* false between the windows of a schedule */
    bool stuck;    /* a thread never left the recording: it is not freed */
    bool operands; /* execution traces are wanted */
    bool unhooked; /* paused by fd_session_record, no hook watches */
    fd_calls_source calls;
    fd_ops_source ops;
    bool held;     /* `hold` was there when the step began */
    char *hold;    /* owned; the path and ".off": nothing is recorded while
                         there is such a file. NULL: in memory */
    uint64_t step; /* number of the running step */
    long wanted;   /* what the schedule said of it */

    /* Owned. Called with the collector off and hooks blind, never in the
     * middle of an event. */
    PyObject *keep;      /* keep(key) -> bool, or NULL */
    PyObject *schedule;  /* schedule(step) -> action, or NULL */
    PyObject *on_change; /* called when PyTorch has been imported, or a process
                            group made */
    PyObject *on_ready;  /* called when a window of the schedule ends */
    PyObject *on_model; /* on_model(module): called when a module that no other
                           calls is seen for the first time, or NULL */
    PyObject *tensor;   /* torch.Tensor, where execution traces are wanted */
    PyObject *error;    /* the first exception that one of them raised */
} fd_session;

/* What a schedule answers for a step: the values of
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
 * wants it. FD_ECONFLICT, with a message, when another session is active
 * or sys.monitoring has no free tool id. Needs the GIL, as all below. */
fd_status fd_session_start(fd_session *session, fd_error *error);

/* Stop for good: hooks out, times settled. Notes can still be added. */
void fd_session_stop(fd_session *session);

/* Close the file of a stopped session. */
void fd_session_finish(fd_session *session);

/* A step ended, as seen through `source` (FD_STEPS_*). */
void fd_session_step(fd_session *session, fd_thread *thread, uint32_t source);

/* Record from now on, in step `step`, or nothing until the next call: outside
 * there is no hook. Of an active session without a schedule. */
void fd_session_record(fd_session *session, bool record, uint64_t step);

/* PyTorch has been imported, or a process group made. */
void fd_session_changed(fd_session *session, fd_thread *thread);

/* Call one of the session's functions, without argument when that is NULL. An
 * Exception that it raises is kept in session->error and NULL returned; any
 * other exception (KeyboardInterrupt, SystemExit) is raised in the program as
 * soon as that runs on. */
PyObject *fd_session_call(fd_session *session, fd_thread *thread,
                          PyObject *function, PyObject *argument);

/* Entries are about to end: so do their marks on the GPU, if there are any. */
static inline void
fd_thread_end_marks(fd_thread *thread, uint32_t at, bool above)
{
    if (__builtin_expect(
            thread->marks != NULL && thread->marks->open.count > 0, false)) {
        fd_marks_end(thread, at, above);
    }
}

/* The object that owned it is gone: free the session as soon as that is
 * allowed. */
void fd_session_retire(fd_session *session);

/* Once per process: hooks for fork. -1 with an exception. */
int fd_session_init(void);

/* In a forked child, with the GIL: the evaluator goes too. */
void fd_session_forked(void);

#endif
