/* The only mutable state outside a session. Evaluator hooks and
 * record-function callbacks get no user pointer from their callers, so the
 * state that they start from is at file scope: the active session, and the
 * tables of code objects and classes, whose ids outlive a recording. */
#ifndef FD_PROCESS_H
#define FD_PROCESS_H

#include "base/vector.h"
#include "capture/python/object_ids.h"

#include <stdatomic.h>

enum { FD_GENERATIONS = 3 }; /* of CPython's garbage collector */

/* Counts of garbage collections during a session. */
typedef struct fd_collections {
    uint32_t serial; /* serial of the session; 0: none */
    uint64_t runs[FD_GENERATIONS];
    uint64_t collected[FD_GENERATIONS]; /* number of objects */
    uint64_t uncollectable[FD_GENERATIONS];
} fd_collections;

typedef struct fd_process_state {
    /* Changes whenever recording starts or stops. A thread whose copy differs
     * must synchronize before its next event. */
    _Atomic uint32_t generation;
    /* Tick from which the next Python call calls fd_session.deadline_passed;
     * UINT64_MAX: never. */
    _Atomic uint64_t deadline;
    /* Ticks after which a quiet call is long, or 0: session/quiet_calls.h. */
    _Atomic uint64_t patience;
    /* Whether a pending call that notices the deadline has not run yet. */
    _Atomic bool called;
    _Atomic(struct fd_session *) active; /* NULL: nothing is being recorded */
    _Atomic uint32_t serial;             /* serial of `active`; 0: none */
    struct fd_session *retired; /* owned list; see fd_session_retire */
    struct fd_session *forking; /* session locked during fork */
    /* State of guards (guard.h), protected by the GIL. */
    uint32_t pins;            /* open guards of all threads */
    uint32_t collector_holds; /* open guards that disable the collector */
    int collecting;           /* whether the collector was enabled before */
    uint32_t sessions;        /* latest serial */
    uint64_t dispatched;      /* calls recorded by dispatch modes */

    fd_collections collections;

    char *own_folder; /* owned; folder of this package, not recorded */
    fd_object_ids classes;
    Py_ssize_t code_index; /* index of the word in co_extra */
    uint32_t codes;        /* latest id of a code object; ids are not reused */
    struct fd_code *known; /* facts about code objects, newest first */
    FD_VECTOR(struct fd_job_rule *) job_rules; /* owned; rules of the user */
    char *step_function; /* owned; see fd_code_set_step */
} fd_process_state;

extern fd_process_state fd_process;

/* Load with acquire order: data written before the start of a generation is
 * visible to threads that record in it, even without the GIL. A plain load on
 * x86-64. */
static inline uint32_t
fd_process_generation(void)
{
    return atomic_load_explicit(&fd_process.generation, memory_order_acquire);
}

static inline struct fd_session *
fd_process_active(void)
{
    return atomic_load_explicit(&fd_process.active, memory_order_acquire);
}

static inline uint64_t
fd_process_deadline(void)
{
    return atomic_load_explicit(&fd_process.deadline, memory_order_relaxed);
}

/* Return the serial of the active session, or 0. The result is never equal to
 * the serial of a thread without a tree. */
static inline uint32_t
fd_process_serial(void)
{
    return atomic_load_explicit(&fd_process.serial, memory_order_acquire);
}

/* Set the active session; NULL and 0: none. */
void fd_process_activate(struct fd_session *session, uint32_t serial);

/* Make every thread synchronize before its next event. */
void fd_process_next_generation(void);

#endif
