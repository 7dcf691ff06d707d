/* The only mutable state outside a session. Evaluator hooks and
 * record-function callbacks get no user pointer from their callers, so state
 * that they reach first is at file scope: the active session, and the tables
 * of code objects and classes, whose ids outlive a recording. */
#ifndef FD_PROCESS_H
#define FD_PROCESS_H

#include "base/vector.h"
#include "capture/python/classes.h"

#include <stdatomic.h>

enum { FD_GENERATIONS = 3 }; /* of CPython's garbage collector */

/* Garbage collections while a session recorded. */
typedef struct fd_collections {
    uint32_t serial; /* of the session; 0: none */
    uint64_t runs[FD_GENERATIONS];
    uint64_t collected[FD_GENERATIONS]; /* objects */
    uint64_t uncollectable[FD_GENERATIONS];
} fd_collections;

typedef struct fd_process_state {
    /* Changes whenever recording starts or stops. A thread whose copy differs
     * has to synchronize before its next event. */
    _Atomic uint32_t generation;
    _Atomic(struct fd_session *) active; /* NULL: nothing records */
    _Atomic uint32_t serial;             /* of that session; 0 without */
    struct fd_session *retired; /* owned, linked; see fd_session_retire */
    struct fd_session *forking; /* locked during fork */
    /* Of guards (see guard.h), under the GIL. */
    uint32_t pins;            /* open guards of all threads */
    uint32_t collector_holds; /* those of them that disable the collector */
    int collecting;           /* whether it was enabled before */
    uint32_t sessions;        /* last serial */
    uint64_t dispatched;      /* calls recorded by dispatch modes */

    fd_collections collections;

    char
        *own_folder; /* owned; of fastdispatch itself, which is not recorded */
    fd_classes classes;
    Py_ssize_t code_index; /* the slot in co_extra */
    uint32_t codes;        /* last id of a code object; ids are not reused */
    struct fd_code *known; /* facts about them, newest first */
    FD_VECTOR(struct fd_job_rule *) job_rules; /* owned; of the user */
} fd_process_state;

extern fd_process_state fd_process;

/* Acquire: data written before the start of a generation is visible to threads
 * that record in it, also without the GIL. A plain load on x86-64. */
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

/* 0 while nothing records; never equal to that of a thread without a tree. */
static inline uint32_t
fd_process_serial(void)
{
    return atomic_load_explicit(&fd_process.serial, memory_order_acquire);
}

/* NULL and 0: no session is active. */
void fd_process_activate(struct fd_session *session, uint32_t serial);

/* Make every thread synchronize before its next event. */
void fd_process_next_generation(void);

#endif
