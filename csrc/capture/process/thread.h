/* The state of an OS thread that has had an event, in thread-local storage.
 * Used by that thread only. */
#ifndef FD_THREAD_H
#define FD_THREAD_H

#include "base/sections.h"
#include "base/segment.h"
#include "capture/process/process.h"
#include "capture/process/stack_limit.h"
#include "gpu/gpu_device.h"
#include "recording/context_tree.h"

/* An open GPU timer: see timers/call_timers.h. */
typedef struct fd_open_timer {
    uint64_t owner; /* owner of its entry */
    uint64_t start; /* tick of its entry: addresses of owners are reused */
    fd_gpu_device *device;
    uint32_t slot;
} fd_open_timer;

/* The last known stream of a thread: see torch/current_stream.h. */
typedef struct fd_stream_memory {
    void *handle;
    int device;
    bool known;
} fd_stream_memory;

typedef struct fd_thread_timers {
    uint32_t serial; /* serial of their session */
    FD_VECTOR(fd_open_timer) open;
    fd_map chosen; /* node -> 1: not selected, 2: selected by globs */
    fd_stream_memory stream;
} fd_thread_timers;

typedef struct fd_thread {
    /* Equal to fd_process.generation while the shortest path is allowed; 0 if
     * this thread has to synchronize first. */
    uint32_t generation;
    uint32_t synced;          /* generation that its stack was built for */
    uint32_t followed;        /* the same in an unrecorded step */
    const fd_frame *frame;    /* innermost Python frame of the stack */
    const fd_frame *unhooked; /* innermost frame whose end no hook reports */
    fd_stack_limit stack;
    fd_segment *segment;  /* current segment; NULL: the thread's own stack */
    fd_segment *segments; /* owned; first segment */
    const fd_frame *passing;    /* frame being passed to the next evaluator */
    fd_section section;         /* see base/sections.h */
    fd_tree *tree;              /* borrowed from the recording */
    struct fd_session *session; /* session that owns the tree */
    uint32_t serial;            /* serial of that session */
    struct fd_ring *ring;     /* ring of forward numbers; NULL before the first
                                 operator */
    PyThreadState *state;     /* of a Python thread, else NULL */
    fd_index names;           /* text of ranges and autograd nodes -> node */
    uint32_t step_nesting;    /* open calls whose end may end a step */
    uint64_t stepping;        /* address of the optimizer of the outermost */
    uint32_t reports;         /* of the outermost optimizer, by PyTorch, */
    bool reported;            /* one of which was the end of the call */
    bool unheard;             /* a report inside a muted call */
    bool ring_refused;        /* whether there was no space for a ring */
    fd_thread_timers *timers; /* owned; NULL before the first timer */
    const fd_frame *muted;    /* see FD_CODE_MUTED; used by the monitor only */
    uint32_t earlier; /* number of entries before the stack was rebuilt for a
                         new generation; 0: it is not being rebuilt */
    uint32_t follows; /* calls followed since it began a window */
    uint32_t beyond;  /* open calls without an entry: the stack is full */
    uint32_t pins;    /* open guards of this thread */
    bool busy;        /* inside a slow path of the hooks, or muted */
} fd_thread;

/* initial-exec makes an access one load. It uses one pointer of the static TLS
 * space that glibc reserves for libraries loaded later. */
extern __thread fd_thread *fd_thread_self
    __attribute__((tls_model("initial-exec")));

/* Create the pthread key whose destructor releases trees. Return -1 with an
 * exception on failure. */
int fd_thread_init(void);

/* Return the state of the calling thread, created on first use, or NULL if
 * there is no memory. */
fd_thread *fd_thread_get(void);

/* Reset the list of sections in a forked child, where only the calling thread
 * exists. */
void fd_thread_forked(void);

#endif
