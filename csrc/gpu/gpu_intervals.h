/* The open intervals of one device.
 *
 * Slots are reference-counted: the open call, each queued timestamp and each
 * interval inside it hold a reference; a slot is freed with the last one.
 * Slots do not move, so that a thread without the lock of the device can mark
 * an interval as lost. The device serialises all other calls. */
#ifndef FD_GPU_INTERVALS_H
#define FD_GPU_INTERVALS_H

#include "gpu/event_pool.h"

#include <stdatomic.h>

enum {
    FD_GPU_INTERVALS_STEP = 1024,
    FD_GPU_INTERVALS_STEPS = FD_GPU_POOL_LARGEST / FD_GPU_INTERVALS_STEP
};

typedef struct fd_gpu_interval {
    void *event;     /* of the start; goes back to the pool when freed */
    uint64_t host;   /* tick at which the start was recorded */
    int64_t start;   /* tick at which the GPU reached it */
    uint64_t nested; /* ns of the intervals inside it on the same stream */
    uint32_t context;
    uint32_t thread; /* id of the thread record */
    uint32_t parent; /* enclosing interval on the same stream; 0: none */
    uint32_t next;   /* next free slot */
    uint16_t holders;
    uint16_t stream;   /* index of the stream in the device */
    bool open;         /* the open call holds a reference */
    _Atomic bool lost; /* set without the lock */
} fd_gpu_interval;

typedef struct fd_gpu_intervals {
    fd_gpu_interval *chunks[FD_GPU_INTERVALS_STEPS]; /* owned */
    uint32_t count; /* number of slots; slot 0 is not used */
    uint32_t free;  /* first free slot; 0: none */
} fd_gpu_intervals;

static inline fd_gpu_interval *
fd_gpu_interval_at(const fd_gpu_intervals *intervals, uint32_t slot)
{
    return &intervals->chunks[slot / FD_GPU_INTERVALS_STEP]
                             [slot % FD_GPU_INTERVALS_STEP];
}

/* Take a zeroed slot with one reference, for the call. Return 0 if there is no
 * space. */
uint32_t fd_gpu_interval_take(fd_gpu_intervals *intervals);

/* Drop a reference. The event of a freed slot goes back to the pool. */
void fd_gpu_interval_release(fd_gpu_intervals *intervals, uint32_t slot,
                             fd_gpu_pool *pool);

void fd_gpu_intervals_clear(fd_gpu_intervals *intervals);

#endif
