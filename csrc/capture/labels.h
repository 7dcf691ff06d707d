/* Which calls are timed on the GPU, and what a thread has begun of that. In
 * one step out of `every`, each chosen call is put between two marks on the
 * stream that is current when it begins.
 *
 *     open stack   train │ forward │ aten::linear │ aten::addmm
 *     open marks                     [ linear     ,  addmm ]
 *
 * Marks end with their entries. One whose entry went away unseen (a new
 * generation, a frame that no hook saw end) is found at the next mark, dropped
 * and counted: so nothing else has to know of marks. */
#ifndef FD_LABELS_H
#define FD_LABELS_H

#include "capture/operators/current_stream.h"
#include "gpu/gpu.h"
#include "recording/context_tree.h"

struct fd_session;
struct fd_thread;

/* Of a session. */
typedef struct fd_marks_plan {
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
    bool closed;           /* fd_marks_close was called */
} fd_marks_plan;

typedef struct fd_open_mark {
    uint64_t owner; /* of its entry */
    uint64_t start; /* tick of its entry: an owner's address is used again */
    fd_gpu_device *device;
    uint32_t slot;
} fd_open_mark;

/* Of a thread. */
typedef struct fd_marks {
    uint32_t serial; /* of the session they belong to */
    FD_VECTOR(fd_open_mark) open;
    fd_map chosen; /* node -> 1 no, 2 yes, by globs */
    fd_stream_memory stream;
} fd_marks;

void fd_marks_plan_clear(fd_marks_plan *plan);
void fd_marks_free(fd_marks *marks);

/* Whether Python calls matter in this step: they are marked, or are where the
 * current stream can be asked for. */
static inline bool
fd_marks_frames(const fd_marks_plan *plan)
{
    return plan->sampling
        && (plan->functions || plan->modules || plan->globs.count > 0
            || plan->stream.function != NULL);
}

/* A Python call begins or ends: see current_stream.h. */
void fd_marks_look(struct fd_thread *thread);

/* A window of the schedule begins, a step ends: whether the next one is
 * sampled. True: hooks have to change. Needs the GIL. Both collect the
 * intervals that are complete by now, those of earlier windows included. */
bool fd_marks_window(struct fd_session *session, struct fd_thread *thread);
bool fd_marks_step(struct fd_session *session, struct fd_thread *thread);

/* The window ends. Does not wait: later steps collect the marks that the GPU
 * has not passed yet. */
void fd_marks_pause(struct fd_session *session);

/* After the last window, outside all hooks: wait for the remaining marks, at
 * most `patience_ms`, without the GIL. -1 with an exception if a signal handler
 * raised one. */
int fd_marks_wait(struct fd_session *session, int patience_ms);

/* Count the remaining intervals as unfinished, and close the GPU. */
void fd_marks_close(struct fd_session *session);

/* The topmost entry has just been opened, in a sampled step. `call`: what it is
 * for execution traces; 0: nothing. */
void fd_marks_begin(struct fd_thread *thread, uint32_t call);

/* The entry at `at` is about to end; `above`: so are those above it, but for
 * ranges. There are open marks. */
void fd_marks_end(struct fd_thread *thread, uint32_t at, bool above);

#endif
