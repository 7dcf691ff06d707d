/* What the hooks know about the thread they run on. One per OS thread that
 * had an event, found by thread-local storage, used by that thread alone. */
#ifndef FD_THREAD_H
#define FD_THREAD_H

#include "base/sections.h"
#include "base/segment.h"
#include "capture/process/process.h"
#include "capture/process/thread_timers.h"
#include "recording/context_tree.h"

typedef struct fd_thread {
    /* Equal to fd_process.generation while an event may take the shortest
     * path; 0 when this thread has to synchronize first. */
    uint32_t generation;
    uint32_t synced;          /* the generation its stack was built for */
    const fd_frame *frame;    /* innermost Python frame of the stack */
    const fd_frame *unhooked; /* innermost frame whose end no hook reports */
    const char *
        stack_low; /* C stack below this address: continue on another segment */
    size_t stack_bytes;   /* of the thread's own stack */
    fd_segment *segment;  /* that it runs on; NULL: the thread's own stack */
    fd_segment *segments; /* owned: the first of them */
    const fd_frame *passing;    /* passed to the next evaluator */
    fd_section section;         /* see base/sections.h */
    fd_tree *tree;              /* borrowed from the recording */
    struct fd_session *session; /* whose tree this is */
    uint32_t serial;            /* of that session */
    struct fd_ring *ring;  /* of forward numbers; NULL before the first op */
    PyThreadState *state;  /* of a thread that Python made, else NULL */
    fd_index names;        /* text of ranges and autograd nodes -> node */
    uint32_t step_nesting; /* open calls whose end may end a step */
    bool ring_refused;     /* no room for a ring */
    fd_thread_timers *timers; /* owned; NULL before the first */
    const fd_frame *muted;    /* see FD_CODE_MUTED; of the monitor only */
    uint32_t beyond; /* open calls without an entry, for lack of room */
    uint32_t pins;   /* open guards of this thread */
    bool busy;       /* inside a slow path of the hooks, or muted */
} fd_thread;

/* initial-exec: one load per access. A pointer's worth of the static TLS
 * space that glibc keeps for libraries loaded late. */
extern __thread fd_thread *fd_thread_self
    __attribute__((tls_model("initial-exec")));

/* Make the pthread key whose destructor releases trees. -1 with an
 * exception. */
int fd_thread_init(void);

/* The calling thread's record, made when new; NULL when memory is out. */
fd_thread *fd_thread_get(void);

/* In a forked child: the calling thread is the only one. */
void fd_thread_forked(void);

#endif
