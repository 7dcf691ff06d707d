/* CUDA events of one device, made before they are needed and used again and
 * again: creating one costs more than all the rest of a timestamp.
 *
 *     free   [ event | event | event |       ]     the last one back is the
 *                                  ^ count          first one out
 *
 * Grows by FD_GPU_POOL_STEP while warming up, and between steps when it was
 * empty. The device serialises all calls. */
#ifndef FD_EVENT_POOL_H
#define FD_EVENT_POOL_H

#include "base/vector.h"
#include "gpu/cudart.h"

enum { FD_GPU_POOL_STEP = 1024, FD_GPU_POOL_LARGEST = 64 * 1024 };

typedef struct fd_gpu_pool {
    const fd_cudart *cuda;
    FD_VECTOR(void *) free;
    uint32_t made;
    bool dry; /* was empty since it last grew */
} fd_gpu_pool;

/* Make another FD_GPU_POOL_STEP events for the current device, as far as the
 * bound and memory allow. Returns CUDA's error. */
int fd_gpu_pool_grow(fd_gpu_pool *pool);

/* NULL: none is left. */
void *fd_gpu_pool_take(fd_gpu_pool *pool);

/* There is room: the event is from the pool. */
static inline void
fd_gpu_pool_return(fd_gpu_pool *pool, void *event)
{
    pool->free.list[pool->free.count++] = event;
}

/* Destroy the events in the pool. `alive` false: CUDA has ended, or belongs to
 * another process. */
void fd_gpu_pool_clear(fd_gpu_pool *pool, bool alive);

#endif
