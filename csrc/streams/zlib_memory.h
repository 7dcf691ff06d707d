/* Allocation functions for zlib, through base/alloc.h. */
#ifndef FD_ZLIB_MEMORY_H
#define FD_ZLIB_MEMORY_H

#include "base/alloc.h"

#include <zlib.h>

static inline void *
fd_zlib_allocate(void *unused, unsigned count, unsigned size)
{
    (void)unused;
    return fd_malloc((size_t)count * size);
}

static inline void
fd_zlib_release(void *unused, void *block)
{
    (void)unused;
    fd_free(block);
}

/* Return a stream to initialise. */
static inline z_stream
fd_zlib_stream(void)
{
    return (z_stream){.zalloc = fd_zlib_allocate, .zfree = fd_zlib_release};
}

#endif
