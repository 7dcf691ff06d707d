/* The shortest path of both hooks, for a call from a context that made the
 * same call before: no lookup, no lock, no allocation, one cache line of the
 * recording. Requires the GIL, a thread in a valid state, and code without
 * special treatment.
 *
 * The functions are always inlined: passing the clock at run time would cost a
 * test and a spilled register before and after the call, a seventh of the
 * total. */
#ifndef FD_PLAIN_CALLS_H
#define FD_PLAIN_CALLS_H

#include "capture/frames/python_calls.h"

#define FD_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define FD_INLINE static inline __attribute__((always_inline))

/* The clock of a call. TSC_TIMELINE and OTHER_CLOCK also write the timeline if
 * it is enabled. */
typedef enum fd_call_clock {
    FD_NO_CLOCK,
    FD_TSC,
    FD_TSC_TIMELINE,
    FD_OTHER_CLOCK
} fd_call_clock;

/* Charge the time up to now to the running context, and return the tick. */
FD_INLINE uint64_t
fd_plain_tick(fd_tree *tree, const fd_call_clock clock)
{
    uint64_t now = 0;
    if (clock != FD_NO_CLOCK) {
        now = fd_clock_ticks_of(clock != FD_OTHER_CLOCK);
        fd_tree_tick(tree, now);
    }
    return now;
}

/* Return the context of an earlier call from the current context, or NULL if
 * it is unknown or the stack is full. */
FD_INLINE fd_context *
fd_plain_context(fd_tree *tree, const fd_code *known, const PyTypeObject *type)
{
    fd_context *context = fd_calls_repeated(tree, known, type);
    if (FD_UNLIKELY(context == NULL)) {
        context = fd_calls_recent(tree, known, type);
    }
    return FD_UNLIKELY(fd_tree_depth(tree) == tree->record->capacity)
             ? NULL
             : context;
}

FD_INLINE void
fd_plain_open(fd_thread *thread, fd_context *context, const fd_frame *frame,
              const fd_call_clock clock)
{
    fd_tree *tree = thread->tree;
    uint64_t now = fd_plain_tick(tree, clock);
    uint32_t id = fd_tree_id(tree, context);
    tree->current->last_child = id;
    context->calls++;
    fd_tree_push(tree, context, id, frame, FD_ENTRY_FRAME);
    thread->frame = frame;
    if (FD_UNLIKELY(now > fd_process_deadline())) {
        thread->generation = 0; /* the next call handles it */
    }
}

/* Close the topmost entry, at `depth`. */
FD_INLINE void
fd_plain_close(fd_thread *thread, uint32_t depth, fd_context *parent,
               const fd_frame *caller, const fd_call_clock clock)
{
    fd_tree *tree = thread->tree;
    fd_plain_tick(tree, clock);
    if (clock > FD_TSC && tree->events.chunk != NULL) {
        fd_tree_called(tree, &tree->stack[depth], tree->current,
                       FD_TIMELINE_PYTHON);
    }
    fd_tree_return(tree, depth, parent);
    thread->frame = caller;
}

#endif
