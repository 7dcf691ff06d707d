#include "check.h"

#include "gpu/gpu_intervals.h"
#include "standin/cudart.h"

/* A slot is freed with its last reference, and then releases its parent. */
TEST(frees_with_the_last_holder)
{
    standin_reset();
    fd_gpu_pool pool = {.made = 0};
    CLEAN(fd_gpu_intervals_clear) fd_gpu_intervals intervals = {.count = 0};
    uint32_t outer = fd_gpu_interval_take(&intervals);
    uint32_t inner = fd_gpu_interval_take(&intervals);
    if (check_refused()) {
        return;
    }
    CHECK(outer != 0 && inner != 0 && outer != inner);
    fd_gpu_interval_at(&intervals, inner)->parent = outer;
    fd_gpu_interval_at(&intervals, outer)->holders++;
    fd_gpu_interval_release(&intervals, outer, &pool); /* the call */
    EQUAL(fd_gpu_interval_at(&intervals, outer)->holders, 1);
    fd_gpu_interval_release(&intervals, inner, &pool);
    EQUAL(intervals.free, outer);
    EQUAL(fd_gpu_interval_take(&intervals), outer);
    EQUAL(fd_gpu_interval_take(&intervals), inner);
}

/* The number of slots is bounded, and slots do not move. */
TEST(is_bounded)
{
    CLEAN(fd_gpu_intervals_clear) fd_gpu_intervals intervals = {.count = 0};
    uint32_t first = fd_gpu_interval_take(&intervals);
    ALLOCATED(first != 0);
    const fd_gpu_interval *place = fd_gpu_interval_at(&intervals, first);
    uint32_t taken = 1;
    while (fd_gpu_interval_take(&intervals) != 0) {
        taken++;
    }
    CHECK(fd_gpu_interval_at(&intervals, first) == place);
    CHECK(check_refused() || taken == FD_GPU_POOL_LARGEST - 1);
}
