/* The open stack as Python calls change it: everything except the shortest
 * path, which is in the hooks themselves. Needs the GIL. */
#ifndef FD_PYTHON_CALLS_H
#define FD_PYTHON_CALLS_H

#include "capture/frames/functions.h"

/* Handle what keeps an event off the shortest path: a thread seen for
 * the first time, a new generation, frames that no hook saw, open ranges.
 * `caller` is the innermost Python frame that runs, `frame` the one about to
 * (NULL: none, an operator or a range). False: do not record the event. */
bool fd_calls_prepare(PyThreadState *state, fd_frame *caller, fd_frame *frame);

/* The calling thread, ready for an event other than a Python call; NULL: skip
 * the event. */
fd_thread *fd_calls_ready(void);

/* The calling thread, ready for an event of sys.monitoring: `frame` was
 * entered from `caller`, or `caller` itself is about to end (`frame` NULL).
 * NULL: skip the event. */
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

/* Whether `context` is that of the last call of this code object with this
 * class. */
static inline bool
fd_calls_is(const fd_context *context, const fd_code *known,
            const PyTypeObject *type)
{
    return context->callee == known->id
        && fd_classes_is(&fd_process.classes, context->receiver, type);
}

/* The context of a call that repeats the one before it, or the one that
 * followed that last time; NULL for any other. */
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

/* The context of a call made from here before, if its slot still has it. The
 * prediction is corrected. */
fd_context *fd_calls_recent(fd_tree *tree, const fd_code *known,
                            const PyTypeObject *type);

/* In place of a depth: the call has no entry. */
#define FD_NO_ENTRY UINT32_MAX

/* Open the call of `frame` and return its depth; the caller evaluates and
 * then calls fd_calls_leave with it. FD_NO_ENTRY: there is no room for one, or
 * the recording ended meanwhile. */
uint32_t fd_calls_enter(fd_thread *thread, PyCodeObject *code,
                        const fd_code *known, fd_frame *frame);

/* The same for a frame that CPython evaluates without the evaluator hook. */
void fd_calls_enter_unhooked(fd_thread *thread, PyCodeObject *code,
                             const fd_code *known, fd_frame *frame);

/* Close the entry of `frame`, opened at `depth`, and what it left open above.
 * Ranges that outlive it move to its caller, `caller`. When the entry is gone
 * (another greenlet ran meanwhile) the next event looks at the frames again. */
void fd_calls_leave(fd_thread *thread, uint32_t depth, const fd_frame *frame,
                    const fd_frame *caller);

/* Make the stack agree with the thread's Python frames, of which `current` is
 * the innermost: entries of frames that are gone are closed, frames without an
 * entry get one. Calls that began before this are not counted, except for the
 * constructors that 3.13 hides from the hook. */
void fd_calls_match(fd_thread *thread, fd_frame *current);

#endif
