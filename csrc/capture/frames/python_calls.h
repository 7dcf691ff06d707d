/* Push and pop of Python calls on the open stack: everything except the
 * shortest path, which is in the hooks. Requires the GIL. */
#ifndef FD_PYTHON_CALLS_H
#define FD_PYTHON_CALLS_H

#include "capture/frames/functions.h"
#include "recording/followed_call.h"
#include "recording/open_entries.h"

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

/* Calls that are followed, not recorded: in an unrecorded step, the stack of
 * open calls shows where the program is, without counts and times. */

/* Return whether the stack of the thread follows calls. */
static inline bool
fd_calls_is_following(const fd_thread *thread)
{
    return thread->followed == fd_process_generation();
}

/* Handle the conditions that exclude the shortest path, as fd_calls_prepare
 * does. */
fd_thread *fd_calls_follow_from(PyThreadState *state, fd_frame *caller,
                                fd_frame *frame);

/* Prepare the calling thread to follow the call of `frame` from `caller`, and
 * return it. NULL: do not follow it. */
static inline fd_thread *
fd_calls_following(PyThreadState *state, fd_frame *caller, fd_frame *frame)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL && fd_calls_is_following(thread)
        && thread->frame == caller && !thread->busy) {
        return thread;
    }
    return fd_calls_follow_from(state, caller, frame);
}

/* Handle the deadline of the process if it is over, unless the thread is in a
 * slow path. */
void fd_calls_keep_deadline(fd_session *session);

/* Attach a thread that begins in a watched step, with its outermost frame. */
void fd_calls_watch_thread(fd_thread *thread, PyThreadState *state,
                           fd_frame *frame);

/* Return the id of the class of a call, usually that of the latest recorded
 * one; 0 if it was never recorded. */
static inline uint32_t
fd_calls_class(const fd_code *known, const fd_frame *frame)
{
    const PyTypeObject *type = fd_receiver_type(known, frame);
    return fd_objects_is(&fd_process.classes, known->class_id, type)
             ? known->class_id
             : fd_objects_known(&fd_process.classes, type);
}

/* Open a call, unless the stack is full. */
static inline void
fd_calls_follow(fd_thread *thread, const fd_code *known, const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    uint64_t now = fd_clock_ticks();
    if (__builtin_expect(now > fd_process_deadline(), false)) {
        thread->followed = 0; /* the next call handles it */
    }
    thread->frame = frame;
    thread->follows++;
    if (depth < tree->record->capacity || fd_stack_make_room(tree)) {
        tree->stack[depth] = (fd_entry){
            .start = FD_FOLLOWED(known->id, now),
            .owner = (uintptr_t)frame,
            .context = fd_tree_id(tree, tree->current),
            .flags = FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED | FD_ENTRY_FOLLOWED
                   | fd_calls_class(known, frame) << FD_ENTRY_CLASS_SHIFT,
        };
        tree->record->last = now;
        atomic_store_explicit(&tree->record->depth, depth + 1,
                              memory_order_release);
    }
}

/* Close the call of `frame`, and those above it. */
static inline void
fd_calls_unfollow(fd_thread *thread, const fd_frame *frame,
                  const fd_frame *caller)
{
    fd_tree *tree = thread->tree;
    int64_t at = (int64_t)fd_tree_depth(tree) - 1;
    if (at < 0 || tree->stack[at].owner != (uintptr_t)frame) {
        at = fd_stack_find(tree, frame, FD_ENTRY_FRAME);
    }
    if (at >= 0) {
        fd_tree_return(tree, (uint32_t)at, tree->current);
    }
    thread->frame = at >= 0 ? caller : NULL;
}

/* Return whether `context` belongs to this code object and class. */
static inline bool
fd_calls_is(const fd_context *context, const fd_code *known,
            const PyTypeObject *type)
{
    return context->callee == known->id
        && fd_objects_is(&fd_process.classes, context->receiver, type);
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
