/* CUDA events of one device, created in advance and reused: creating one costs
 * more than the rest of a timestamp.
 *
 *     free   [ event | event | event |       ]     a stack
 *                                  ^ count
 *
 * Grows by FD_GPU_POOL_STEP during warm-up, and between steps after it was
 * empty. The device serialises all calls. */
#ifndef FD_EVENT_POOL_H
#define FD_EVENT_POOL_H

#include "base/vector.h"
#include "gpu/gpu_runtime.h"

enum { FD_GPU_POOL_STEP = 1024, FD_GPU_POOL_LARGEST = 64 * 1024 };

typedef struct fd_gpu_pool {
    const fd_gpu_runtime *runtime;
    FD_VECTOR(void *) free;
    uint32_t made;
    bool dry; /* was empty since it last grew */
} fd_gpu_pool;

/* Create FD_GPU_POOL_STEP more events for the current device, as far as the
 * bound and memory allow. Returns CUDA's error. */
int fd_gpu_pool_grow(fd_gpu_pool *pool);

/* NULL if empty. */
void *fd_gpu_pool_take(fd_gpu_pool *pool);

/* Always has room: the event is from the pool. */
static inline void
fd_gpu_pool_return(fd_gpu_pool *pool, void *event)
{
    pool->free.list[pool->free.count++] = event;
}

/* Destroy the events in the pool; with `alive` false, only free the pool: CUDA
 * has ended, or belongs to another process. */
void fd_gpu_pool_clear(fd_gpu_pool *pool, bool alive);

#endif
