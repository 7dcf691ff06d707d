#include "gpu/event_pool.h"

int
fd_gpu_pool_grow(fd_gpu_pool *pool)
{
    uint32_t wanted = pool->made + FD_GPU_POOL_STEP;
    if (wanted > FD_GPU_POOL_LARGEST
        || fd_vector_reserve(&pool->free, wanted - pool->free.count)
               != FD_OK) {
        return FD_GPU_SUCCESS;
    }
    while (pool->made < wanted) {
        void *event;
        int result = fd_gpu_result(pool->runtime,
                                   pool->runtime->event_create(&event, 0));
        if (result != FD_GPU_SUCCESS) {
            return result;
        }
        pool->made++;
        fd_gpu_pool_return(pool, event);
    }
    pool->dry = false;
    return FD_GPU_SUCCESS;
}

void *
fd_gpu_pool_take(fd_gpu_pool *pool)
{
    if (pool->free.count == 0) {
        pool->dry = true;
        return NULL;
    }
    return pool->free.list[--pool->free.count];
}

void
fd_gpu_pool_clear(fd_gpu_pool *pool, bool alive)
{
    for (uint32_t i = 0; alive && i < pool->free.count; i++) {
        fd_gpu_result(pool->runtime,
                      pool->runtime->event_destroy(pool->free.list[i]));
    }
    fd_vector_clear(&pool->free);
    pool->made = 0;
}
