/* Further C stacks for a thread whose own stack is too small.
 *
 * With an evaluator hook, every Python call uses C stack, which CPython alone
 * avoids: a deep recursion that works without a recorder would overflow. Such
 * calls continue on a segment, a separate mapping, and return to the previous
 * stack at the end.
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
    char *base; /* start of the mapping, which begins with a guard page */
    size_t bytes;
    const char *bottom;      /* lowest address of the stack, above the guard */
    const char *low;         /* below this address, continue on the next
                                segment */
    struct fd_segment *next; /* owned; a deeper segment, kept for reuse */
} fd_segment;

/* Create a segment for a thread whose own stack has `stack_bytes`. Return NULL
 * if there is no address space. Pages use memory only once touched. */
fd_segment *fd_segment_make(size_t stack_bytes);

/* Free a segment and all deeper ones; NULL is allowed. */
void fd_segment_free(fd_segment *segment);

/* Run function(argument) on the segment. */
void fd_segment_run(const fd_segment *segment, void (*function)(void *),
                    void *argument);

#endif
