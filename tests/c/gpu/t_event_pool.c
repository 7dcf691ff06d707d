#include "check.h"

#include "gpu/event_pool.h"
#include "standin/cudart.h"

static void
clear(fd_gpu_pool *pool)
{
    fd_gpu_pool_clear(pool, true);
}

/* Grows by steps, never beyond the bound, and all events are returned. */
TEST(is_bounded)
{
    standin_reset();
    fd_gpu_runtime runtime;
    OK(fd_gpu_runtime_find(&runtime, NULL));
    CLEAN(clear) fd_gpu_pool pool = {.runtime = &runtime};
    CHECK(fd_gpu_pool_take(&pool) == NULL && pool.dry);
    for (int i = 0; i < 100; i++) {
        EQUAL(fd_gpu_pool_grow(&pool), 0);
    }
    if (check_refused()) {
        CHECK(pool.free.count == pool.made);
        return;
    }
    EQUAL(pool.made, FD_GPU_POOL_LARGEST);
    CHECK(!pool.dry);
    EQUAL(standin_calls("cudaEventCreateWithFlags"), FD_GPU_POOL_LARGEST);
    void *taken = fd_gpu_pool_take(&pool);
    fd_gpu_pool_return(&pool, taken);
    CHECK(fd_gpu_pool_take(&pool) == taken);
    fd_gpu_pool_return(&pool, taken);
    clear(&pool);
    EQUAL(standin_calls("cudaEventDestroy"), FD_GPU_POOL_LARGEST);
}

/* Events created before an error remain. */
TEST(stops_at_an_error)
{
    standin_reset();
    fd_gpu_runtime runtime;
    OK(fd_gpu_runtime_find(&runtime, NULL));
    CLEAN(clear) fd_gpu_pool pool = {.runtime = &runtime};
    standin_fail("cudaEventCreateWithFlags", 11, 2, 0);
    int answer = fd_gpu_pool_grow(&pool);
    if (check_refused()) {
        return;
    }
    EQUAL(answer, 2);
    EQUAL(pool.free.count, 10);
    EQUAL(cudaPeekAtLastError(), 0);
}
