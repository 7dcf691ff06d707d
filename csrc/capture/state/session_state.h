/* A session: a recording, and the state that capture needs to fill it.
 * session/session.h starts and stops it. */
#ifndef FD_SESSION_STATE_H
#define FD_SESSION_STATE_H

#include "capture/process/thread.h"
#include "capture/state/async_calls.h"
#include "capture/state/group_names.h"
#include "capture/state/instances.h"
#include "capture/state/measure_plan.h"
#include "capture/state/module_paths.h"
#include "capture/state/operators.h"
#include "capture/state/origins.h"
#include "capture/torch/current_stream.h"
#include "gpu/gpu.h"
#include "gpu/gpu_runtime.h"
#include "gpu/kernel_collector.h"
#include "recording/steps/step_rounds.h"
#include "recording/steps/step_table.h"
#include "recording/thread_watch.h"

/* Options and state of GPU timers in a session: timers/call_timers.h. */
typedef struct fd_timer_plan {
    bool wanted;  /* enabled, if CUDA is in use */
    bool kernels; /* collect kernels in every recorded step; if that is not
                     possible, mark modules */
    bool always;  /* mark every recorded step */
    bool modules;
    bool functions;
    bool jobs;
    FD_VECTOR(char *) globs; /* owned; globs of keys to time */
    PyObject *in_use; /* owned: in_use() -> whether PyTorch has initialised
                         CUDA; NULL: never */
    fd_gpu *gpu;      /* owned; NULL until CUDA is in use */
    fd_current_stream stream;
    _Atomic bool sampling; /* whether this step is sampled */
    uint64_t last;         /* latest step for which sampling was decided */
    uint64_t recorded;     /* number of recorded steps that have begun */
    uint64_t sampled;      /* number of sampled steps */
    bool closed;           /* whether fd_timers_close was called */
    /* Of kernels: timers/kernel_windows.h. */
    fd_kernel_collector *collector; /* of the process; NULL: none yet */
    PyObject *is_profiled;    /* owned; is_profiled() -> whether torch.profiler
                                 uses CUPTI; NULL: never */
    fd_gpu_runtime runtime;   /* library NULL: not searched */
    bool collecting;          /* whether kernels of this step are collected */
    uint64_t last_collected;  /* latest step for which that was decided */
    uint64_t collected;       /* number of steps whose kernels were */
    char why_no_kernels[160]; /* "": they can be collected */
} fd_timer_plan;

/* How the ends of steps are found: hooks/step_calls.h. */
typedef struct fd_step_plan {
    fd_rounds rounds;
    fd_object_ids optimizers;
    uint64_t sites[FD_STEP_SITES]; /* hashes: hooks/step_sites.h */
    uint32_t site_count;
    uint32_t backwards;  /* open calls of backward passes, all threads */
    bool pending;        /* whether a step ends with the backward pass */
    uint32_t reported;   /* latest calls in turn that PyTorch has reported */
    uint32_t noted;      /* number of optimizers in the recording's meta */
    uint32_t notes;      /* number of times it was noted */
    uint32_t other_ends; /* ends of steps by other sources than torch.profiler
                             since its latest one, */
    uint32_t most_ends;  /* and at most between two of its */
    bool profiler_ended; /* its steps count no longer */
    PyObject *on_site;   /* owned; on_site([(code, offset), ...]) -> relations
                           of the places so far, or NULL */
} fd_step_plan;

enum { FD_MOST_UNASKED = 256 };

/* The budget of a session, and parts of steps and of time that are recorded:
 * session/partial_steps.h. */
typedef struct fd_partial_plan {
    double budget;   /* share of the time of the run; 0: no budget */
    double patience; /* seconds for which a program without steps is recorded
                        */
    uint64_t began;  /* tick of the start of the session */
    uint64_t first_ended; /* tick of the end of the first step */
    uint64_t deadline;    /* tick at which the part ends; UINT64_MAX: never */
    bool rest;         /* only the rest of this step is recorded, and the step
                          is not a recorded one */
    uint32_t rests;    /* number of times that it was */
    bool watched;      /* the watch looks for the open calls of this step */
    uint32_t cuts;     /* number of recorded steps that were too long */
    uint32_t windows;  /* number of windows of time so far */
    uint64_t opened;   /* tick at which the latest one began to be recorded, */
    uint64_t calls;    /* and the number of calls so far */
    uint64_t followed; /* calls followed before the latest recorded part */
    /* The schedule decides for several unrecorded steps at once. */
    uint32_t decided; /* number of steps to come that are not recorded */
    uint32_t unasked; /* number of steps that have ended since it decided, */
    uint64_t durations[FD_MOST_UNASKED]; /* their durations, ticks, */
    uint64_t worked[FD_MOST_UNASKED];    /* processor time of the thread at
                                            their ends, ns; 0: not read, */
    bool watched_when_asked;             /* and `watched` at that time */
    uint64_t step_began;                 /* tick of the latest end of a step */
    uint64_t handled; /* ticks for the ends of unrecorded steps, and for */
    uint64_t asked;   /* the schedule at the latest one */
} fd_partial_plan;

/* Calls below which nothing is followed in unrecorded steps:
 * session/quiet_calls.h. */
typedef struct fd_quiet_plan {
    fd_map calls; /* code id << 32 | class id -> 1; also code id -> 1 */
    const struct fd_thread *thread; /* that ended the latest step; NULL: none
                                     */
    bool refused;                   /* several threads end steps */
    uint64_t contexts;       /* number of contexts at the latest choice */
    uint32_t steps_per_open; /* a quiet call is open in one of so many steps */
    bool hides_steps;        /* PyTorch reports calls of optimizers in them */
    bool hides_passes;       /* backward passes in them are as many as usual */
    bool reporting;          /* a hidden end of a step is being handled */
    uint32_t count;          /* of quiet calls before the latest optimizer */
} fd_quiet_plan;

/* A C function called by Python code: frames/c_function_nodes.h. */
typedef struct fd_c_function {
    const PyMethodDef *method;
    const char *name;  /* name stored in the recording */
    uint32_t receiver; /* id of the class of `self`; 0: none */
    uint32_t node;
    bool dropped; /* rejected by the keep filter */
} fd_c_function;

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

/* Rules for the use of a session and its recording:
 *  1. A thread without the GIL may use them inside its section
 *     (base/sections.h), after it has compared the generation there. A thread
 *     with the GIL may use them until it releases the GIL; it must compare the
 *     generation again after Python code may have run.
 *  2. The thread that ends a window has the GIL, changes the generation and
 *     waits until all sections have been left. Until the next generation, it
 *     owns the trees of all threads and the tables of the session.
 *  3. Memory is freed once the session has been retired, all sections have
 *     been left again, and no guard (guard.h) is open on any thread. */
typedef struct fd_session {
    struct fd_session *next; /* next retired session */
    uint32_t serial; /* differs from the serial of a freed session at the same
                        address */
    fd_recording *recording; /* owned */
    fd_thread_watch watch;   /* of a recording in a file */
    fd_steps steps;
    fd_step_plan step_plan;
    fd_partial_plan partial;
    fd_quiet_plan quiet;
    fd_paths paths;
    fd_instances instances;
    fd_operators operators;
    fd_operators schemas;    /* schema -> text, for execution traces */
    fd_operators comm_texts; /* group and element type -> text */
    fd_group_names groups;
    fd_origins origins;
    fd_asyncs asyncs;
    fd_timer_plan timers;
    fd_measure_plan measures;
    /* Owned; NULL if memory is not measured: memory/memory_reports.h */
    _Atomic(struct fd_memory_state *) memory;
    /* Owned; NULL if the timeline has no jobs: engines/pipeline_state.h */
    struct fd_engine_pipeline *pipeline;
    /* Handle the end of a step, reported by `source` (FD_STEPS_*). */
    void (*step_ended)(struct fd_session *session, fd_thread *thread,
                       uint32_t source);
    /* Begin or end recording, because the deadline of the process is over. */
    void (*deadline_passed)(struct fd_session *session);
    /* Decide whether to record the rest of an unrecorded step, because it runs
     * code that was not recorded before. */
    bool (*code_found)(struct fd_session *session,
                       const struct fd_code *known);
    fd_map nodes;  /* code id << 32 | class id -> node */
    fd_map models; /* address of a module that was passed to on_model -> 1 */
    fd_map owners; /* code id -> owner of the code: frames/notebook_calls.h */
    uint64_t kernel_threads; /* last thread id of a notebook's kernel; 0: not
                                in a notebook */
    FD_VECTOR(fd_c_function) c_functions;
    fd_map c_function_at; /* hash of method and class -> index + 1 */
    bool fold;            /* fold calls of imports and compilers */
    bool timed;
    _Atomic bool running; /* false between the windows of a schedule */
    bool stuck;    /* a thread never left its section: memory is not freed */
    bool operands; /* record operands for execution traces */
    bool unhooked; /* paused by fd_session_record; the hooks are removed */
    fd_calls_source calls;
    bool c_calls; /* record calls of C functions: hooks/c_calls.h */
    fd_ops_source ops;
    bool on_hold;         /* whether file `hold` existed when the step began */
    uint64_t hold_looked; /* tick at which that was found out */
    char *hold;           /* owned; the path with ".off": while this file
                            exists, nothing is recorded. NULL: in memory */
    uint64_t step;        /* number of the running step */
    long wanted;          /* action of the schedule for the running step */

    /* Owned. Called with the collector and the hooks disabled, and never
     * during an event. */
    PyObject *keep;      /* keep(key) -> bool, or NULL */
    PyObject *schedule;  /* schedule(step) -> action, or NULL */
    PyObject *on_change; /* called after an import of PyTorch or the creation
                            of a process group */
    PyObject *on_ready;  /* called when a window of the schedule ends */
    PyObject *on_model;  /* on_model(module): called at the first call of a
                            module outside of other modules, or NULL */
    PyObject *tensor;    /* torch.Tensor, for execution traces */
    PyObject *error;     /* the first exception raised by one of these */
} fd_session;

/* Return the number of an optimizer, or its address if there is no memory or it
 * has no weak references. Requires an fd_guard, because it creates objects. */
static inline uint64_t
fd_optimizer_id(fd_object_ids *optimizers, PyObject *optimizer)
{
    uint32_t id = fd_objects_add(optimizers, optimizer);
    return id != 0 ? id : (uintptr_t)optimizer;
}

/* Call a function of the session with `argument`, or without one if it is
 * NULL. If it raises an Exception, store that in session->error and return
 * NULL. Other exceptions (KeyboardInterrupt, SystemExit) are raised as soon as
 * the program continues. */
PyObject *fd_session_call(fd_session *session, fd_thread *thread,
                          PyObject *function, PyObject *argument);

/* Assign a tree of this session to the thread if it has none. `python_name` as
 * in fd_role_of. Return false if there is no space: the thread is not
 * recorded. */
bool fd_thread_attach(fd_thread *thread, struct fd_session *session,
                      const char *python_name);

/* Call on_change of the session. */
void fd_session_changed(fd_session *session, fd_thread *thread);

#endif
