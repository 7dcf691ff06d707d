/* The C stack of the calling thread, and the address at which calls continue
 * on a further one. */
#ifndef FD_STACK_LIMIT_H
#define FD_STACK_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fd_stack_limit {
    const char *low; /* below this address, ask fd_stack_has_space */
    const char *top; /* end of the thread's own stack */
    size_t bytes;    /* its size; 0: unknown */
} fd_stack_limit;

/* Measure the thread's own stack. Half of it is left to C code of the
 * program. */
void fd_stack_measure(fd_stack_limit *stack);

/* Return whether the thread's own stack has space for the next call. The
 * program can lower the limit of the main thread at any time: it is read again
 * at each use of a further quarter of a megabyte. */
bool fd_stack_has_space(fd_stack_limit *stack);

#endif
