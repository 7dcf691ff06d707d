/* One recording session: a recording and what capture needs to fill it. Start
 * and stop are in session/session.h. */
#ifndef FD_SESSION_STATE_H
#define FD_SESSION_STATE_H

#include "capture/process/thread.h"
#include "capture/state/async_calls.h"
#include "capture/state/instances.h"
#include "capture/state/module_paths.h"
#include "capture/state/operators.h"
#include "capture/state/origins.h"
#include "capture/torch/current_stream.h"
#include "gpu/gpu.h"
#include "recording/step_table.h"

/* Which calls of a session are timed on the GPU: timers/call_timers.h. */
typedef struct fd_timer_plan {
    bool wanted; /* where CUDA is in use */
    uint32_t every;
    bool ops; /* operators and autograd nodes */
    bool modules;
    bool functions;
    bool jobs;
    FD_VECTOR(char *) globs; /* owned, of keys */
    PyObject *in_use; /* owned: in_use() -> whether PyTorch has begun to use
                         CUDA; NULL is never */
    fd_gpu *gpu;      /* owned; NULL until CUDA is in use */
    fd_current_stream stream;
    _Atomic bool sampling; /* this step */
    uint64_t first;        /* step that the window began with */
    uint64_t last;         /* step that was decided on last */
    uint64_t sampled;      /* steps */
    uint32_t windows;      /* times that sampling began */
    bool closed;           /* fd_timers_close was called */
} fd_timer_plan;

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

/* Which threads may use a session and its recording, and until when:
 *  1. A thread without the GIL does so inside its section (base/sections.h),
 *     after it has compared the generation there; a thread with the GIL does
 *     so while it keeps it, and compares the generation again after anything
 *     that may have run Python code.
 *  2. The thread that ends a window has the GIL, changes the generation and waits
 *     until all sections have been left: from there to the next generation the
 *     trees of all threads and the tables of the session belong to it.
 *  3. Memory is freed when the session is retired, all sections have been left
 *     once more, and no guard (guard.h) is open on any thread. */
typedef struct fd_session {
    struct fd_session *next; /* of the retired ones */
    uint32_t serial; /* differs from that of a freed one at its address */
    fd_recording *recording; /* owned */
    fd_steps steps;
    fd_paths paths;
    fd_instances instances;
    fd_operators operators;
    fd_operators schemas; /* the same, to texts: for execution traces */
    fd_origins origins;
    fd_asyncs asyncs;
    fd_timer_plan timers;
    /* Owned; NULL where the timeline has no jobs: engines/pipeline_state.h */
    struct fd_engine_pipeline *pipeline;
    /* A step ended, as seen through `source` (FD_STEPS_*). */
    void (*step_ended)(struct fd_session *session, fd_thread *thread,
                       uint32_t source);
    fd_map nodes;  /* code id << 32 | class id -> node */
    fd_map models; /* address of a module that on_model was called with -> 1 */
    bool fold;     /* imports and compilers in one <folded> */
    bool timed;
    _Atomic bool running; /* false between the windows of a schedule */
    bool stuck;    /* a thread never left the recording: it is not freed */
    bool operands; /* execution traces are wanted */
    bool unhooked; /* paused by fd_session_record, no hook watches */
    fd_calls_source calls;
    fd_ops_source ops;
    bool on_hold;  /* `hold` was there when the step began */
    char *hold;    /* owned; the path and ".off": nothing is recorded while
                         there is such a file. NULL: in memory */
    uint64_t step; /* number of the running step */
    long wanted;   /* what the schedule said of it */

    /* Owned. Called with the collector and hooks off, never in the
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

/* Call one of the session's functions, without argument when that is NULL. An
 * Exception that it raises is kept in session->error and NULL returned; any
 * other exception (KeyboardInterrupt, SystemExit) is raised in the program as
 * soon as that runs on. */
PyObject *fd_session_call(fd_session *session, fd_thread *thread,
                          PyObject *function, PyObject *argument);

/* Give the thread a tree of this session if it has none. `python_name` as in
 * fd_role_of. False: no room, the thread is not recorded. */
bool fd_thread_attach(fd_thread *thread, struct fd_session *session,
                      const char *python_name);

/* PyTorch has been imported, or a process group made. */
void fd_session_changed(fd_session *session, fd_thread *thread);

#endif
