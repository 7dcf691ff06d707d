/* Allocation functions of the lower layers, through which tests count and
 * refuse allocations. Safe to call from any thread. */
#ifndef FD_ALLOC_H
#define FD_ALLOC_H

#include <stddef.h>

/* Allocate memory; fd_calloc zeroes it. Return NULL if there is no memory;
 * a size of 0 is that of a block. */
void *fd_malloc(size_t size);
void *fd_calloc(size_t count, size_t size);
void *fd_realloc(void *block, size_t size);
void fd_free(void *block);

#endif
