/* Further C stacks for a thread whose own stack is too small.
 *
 * With an evaluator hook every Python call takes C stack, which CPython alone
 * does not need for it: a recursion that is fine without a recorder would
 * overflow. So the calls continue in a segment, a separate mapping, and return
 * to the stack below at the end.
 *
 *     thread's stack      first segment       second segment
 *     main ... call ───► call ... call ───► call ...
 *                     ◄──               ◄──
 *
 * The switch keeps the frame pointer chain and the unwinding tables intact, so
 * debuggers and pthread_exit see one stack. Signal mask and floating-point
 * state are not touched. */
#ifndef FD_SEGMENT_H
#define FD_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define FD_HAS_SEGMENTS 1
#else
#define FD_HAS_SEGMENTS 0
#endif

typedef struct fd_segment {
    char *base; /* of the mapping, which begins with a guard */
    size_t bytes;
    const char *bottom;      /* of the stack, above the guard */
    const char *low;         /* below this address: use the next segment */
    struct fd_segment *next; /* owned; deeper, kept for the next time */
} fd_segment;

/* A segment for a thread whose own stack has `stack_bytes`; NULL when there is
 * no address space. Pages are used when they are touched. */
fd_segment *fd_segment_make(size_t stack_bytes);

/* Free a segment and all deeper ones. NULL is allowed. */
void fd_segment_free(fd_segment *segment);

/* Run function(argument) on the segment. */
void fd_segment_run(const fd_segment *segment, void (*function)(void *),
                    void *argument);

#endif
