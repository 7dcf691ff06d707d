/* Allocation functions of the lower layers. They count the bytes in use, which
 * max_mb limits, and let a test make the n-th allocation fail. Safe to call
 * from any thread; no function takes a lock. */
#ifndef FD_ALLOC_H
#define FD_ALLOC_H

#include <stddef.h>

/* Allocate memory; fd_calloc zeroes it. Return NULL if there is no memory. */
void *fd_malloc(size_t size);
void *fd_calloc(size_t count, size_t size);
void *fd_realloc(void *block, size_t size);
void fd_free(void *block);

/* Return the number of bytes allocated here and not yet freed. */
size_t fd_alloc_in_use(void);

/* Tests only: let the next `after` allocations succeed and fail all later
 * ones; a negative number switches the injection off. */
void fd_alloc_fail_after(long after);

#endif
