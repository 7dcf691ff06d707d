/* CUDA events of one device, created in advance and reused: creating one costs
 * more than the rest of a timestamp.
 *
 *     free   [ event | event | event |       ]     a stack
 *                                  ^ count
 *
 * The pool grows by FD_GPU_POOL_STEP during warm-up, and between steps after
 * it ran empty. The device serialises all calls. */
#ifndef FD_EVENT_POOL_H
#define FD_EVENT_POOL_H

#include "base/vector.h"
#include "gpu/gpu_runtime.h"

enum { FD_GPU_POOL_STEP = 1024, FD_GPU_POOL_LARGEST = 64 * 1024 };

typedef struct fd_gpu_pool {
    const fd_gpu_runtime *runtime;
    FD_VECTOR(void *) free;
    uint32_t made;
    bool dry; /* ran empty since it last grew */
} fd_gpu_pool;

/* Create FD_GPU_POOL_STEP more events for the current device, as far as the
 * limit and memory allow. Return CUDA's error. */
int fd_gpu_pool_grow(fd_gpu_pool *pool);

/* Take an event; NULL if the pool is empty. */
void *fd_gpu_pool_take(fd_gpu_pool *pool);

/* Put an event of the pool back. This cannot fail: its slot is still
 * reserved. */
static inline void
fd_gpu_pool_return(fd_gpu_pool *pool, void *event)
{
    pool->free.list[pool->free.count++] = event;
}

/* Destroy the events in the pool. If `alive` is false, only free the memory:
 * CUDA has shut down, or belongs to another process. */
void fd_gpu_pool_clear(fd_gpu_pool *pool, bool alive);

#endif
