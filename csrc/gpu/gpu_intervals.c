#include "gpu/gpu_intervals.h"

#include "base/alloc.h"

/* Add a chunk of slots; slot 0 stays unused. */
static bool
grow_slots(fd_gpu_intervals *intervals)
{
    uint32_t chunk = intervals->count / FD_GPU_INTERVALS_STEP;
    if (chunk == FD_GPU_INTERVALS_STEPS) {
        return false;
    }
    intervals->chunks[chunk] =
        fd_calloc(FD_GPU_INTERVALS_STEP, sizeof *intervals->chunks[chunk]);
    if (intervals->chunks[chunk] == NULL) {
        return false;
    }
    uint32_t first = intervals->count == 0 ? 1 : intervals->count;
    intervals->count += FD_GPU_INTERVALS_STEP;
    for (uint32_t slot = intervals->count; slot-- > first;) {
        fd_gpu_interval_at(intervals, slot)->next = intervals->free;
        intervals->free = slot;
    }
    return true;
}

uint32_t
fd_gpu_interval_take(fd_gpu_intervals *intervals)
{
    if (intervals->free == 0 && !grow_slots(intervals)) {
        return 0;
    }
    uint32_t slot = intervals->free;
    fd_gpu_interval *interval = fd_gpu_interval_at(intervals, slot);
    intervals->free = interval->next;
    *interval = (fd_gpu_interval){.holders = 1, .open = true};
    return slot;
}

void
fd_gpu_interval_release(fd_gpu_intervals *intervals, uint32_t slot,
                        fd_gpu_pool *pool)
{
    while (slot != 0) {
        fd_gpu_interval *interval = fd_gpu_interval_at(intervals, slot);
        if (--interval->holders > 0) {
            return;
        }
        uint32_t parent = interval->parent;
        if (interval->event != NULL) {
            fd_gpu_pool_return(pool, interval->event);
        }
        *interval = (fd_gpu_interval){.next = intervals->free};
        intervals->free = slot;
        slot = parent;
    }
}

void
fd_gpu_intervals_clear(fd_gpu_intervals *intervals)
{
    for (uint32_t i = 0; i < FD_GPU_INTERVALS_STEPS; i++) {
        fd_free(intervals->chunks[i]);
    }
    *intervals = (fd_gpu_intervals){.count = 0};
}
