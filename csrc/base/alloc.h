/* All allocations of the lower layers. The bytes in use are counted (they
 * count against max_mb), and a test can make the n-th allocation fail. Any
 * thread may call; no function takes a lock. */
#ifndef FD_ALLOC_H
#define FD_ALLOC_H

#include <stddef.h>

/* NULL without memory. fd_calloc'ed memory is zero. */
void *fd_malloc(size_t size);
void *fd_calloc(size_t count, size_t size);
void *fd_realloc(void *block, size_t size);
void fd_free(void *block);

/* Bytes allocated here and not freed yet. */
size_t fd_alloc_in_use(void);

/* Tests only: let the next `after` allocations succeed and fail all later
 * ones; a negative number switches the injection off. */
void fd_alloc_fail_after(long after);

#endif
