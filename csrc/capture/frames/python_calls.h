/* Push and pop of Python calls on the open stack: everything except the
 * shortest path, which is in the hooks. Requires the GIL. */
#ifndef FD_PYTHON_CALLS_H
#define FD_PYTHON_CALLS_H

#include "capture/frames/functions.h"

/* Handle the conditions that exclude the shortest path: a new thread, a new
 * generation, frames that no hook reported, open ranges. `caller` is the
 * innermost running Python frame, `frame` the one about to start (NULL for an
 * operator or a range). Return false if the event must not be recorded. */
bool fd_calls_prepare(PyThreadState *state, fd_frame *caller, fd_frame *frame);

/* Prepare the calling thread for an event other than a Python call and return
 * it. NULL: do not record the event. */
fd_thread *fd_calls_ready(void);

/* Prepare the calling thread for the end of `frame`, its innermost one, and
 * return it. Open ranges stay pending, because they may move below the frame.
 * NULL: do not record the event. */
fd_thread *fd_calls_ending(PyThreadState *state, fd_frame *frame);

/* Prepare the calling thread for an event of sys.monitoring and return it;
 * `frame` was entered from `caller`. NULL: do not record the event. */
static inline fd_thread *
fd_calls_monitored(PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL && thread->generation == fd_process_generation()
        && thread->frame == caller) {
        return thread;
    }
    return fd_calls_prepare(state, caller, frame) ? fd_thread_self : NULL;
}

/* Return whether `context` belongs to this code object and class. */
static inline bool
fd_calls_is(const fd_context *context, const fd_code *known,
            const PyTypeObject *type)
{
    return context->callee == known->id
        && fd_classes_is(&fd_process.classes, context->receiver, type);
}

/* Return the context of a call if it repeats the previous call, or the call
 * that followed that one last time, else NULL. */
static inline fd_context *
fd_calls_repeated(const fd_tree *tree, const fd_code *known,
                  const PyTypeObject *type)
{
    fd_context *latest = fd_tree_latest(tree);
    fd_context *successor = fd_tree_successor(tree, latest);
    if (fd_calls_is(successor, known, type)) {
        return successor;
    }
    return fd_calls_is(latest, known, type) ? latest : NULL;
}

/* Return the cached context of an earlier call from the current context, or
 * NULL, and update the prediction. */
fd_context *fd_calls_recent(fd_tree *tree, const fd_code *known,
                            const PyTypeObject *type);

/* The depth of a call that has no entry. */
#define FD_NO_ENTRY UINT32_MAX

/* Open the call of `frame` and return its depth, the argument of
 * fd_calls_leave after evaluation. Return FD_NO_ENTRY if the stack is full or
 * the recording has ended. */
uint32_t fd_calls_enter(fd_thread *thread, PyCodeObject *code,
                        const fd_code *known, fd_frame *frame);

/* fd_calls_enter for a frame that CPython evaluates without the evaluator
 * hook. */
void fd_calls_enter_unhooked(fd_thread *thread, PyCodeObject *code,
                             const fd_code *known, fd_frame *frame);

/* Close the entry of `frame`, opened at `depth`, and the entries above it.
 * Ranges that outlive it move to `caller`. If the entry was removed (another
 * greenlet ran), the next event matches the frames again. */
void fd_calls_leave(fd_thread *thread, uint32_t depth, const fd_frame *frame,
                    const fd_frame *caller);

#endif
