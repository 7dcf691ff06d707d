/* The open intervals of one device.
 *
 * A slot has a reference of the open call, of each of its queued timestamps,
 * and of each interval inside it; it is free without references. Slots do not
 * move, so that a thread without the lock of the device can mark an interval
 * as lost. The device serialises all other calls. */
#ifndef FD_GPU_INTERVALS_H
#define FD_GPU_INTERVALS_H

#include "gpu/event_pool.h"

#include <stdatomic.h>

enum {
    FD_GPU_INTERVALS_STEP = 1024,
    FD_GPU_INTERVALS_STEPS = FD_GPU_POOL_LARGEST / FD_GPU_INTERVALS_STEP
};

typedef struct fd_gpu_interval {
    void *event;     /* of the begin; returned to the pool at the end */
    uint64_t host;   /* tick at which the begin was recorded */
    int64_t start;   /* tick at which the GPU passed it */
    uint64_t nested; /* ns of the intervals inside it on its stream */
    uint32_t context;
    uint32_t caller; /* context that made the call */
    uint32_t thread; /* record of the thread */
    uint32_t call;   /* for execution traces; 0: none */
    uint32_t parent; /* interval on the same stream; 0: none */
    uint32_t next;   /* next free slot */
    uint16_t holders;
    uint16_t stream;   /* index in the device */
    bool open;         /* has the call's reference */
    _Atomic bool lost; /* set without the lock */
} fd_gpu_interval;

typedef struct fd_gpu_intervals {
    fd_gpu_interval *chunks[FD_GPU_INTERVALS_STEPS]; /* owned */
    uint32_t count; /* slots; slot 0 is not used */
    uint32_t free;  /* 0: none */
} fd_gpu_intervals;

static inline fd_gpu_interval *
fd_gpu_interval_at(const fd_gpu_intervals *intervals, uint32_t slot)
{
    return &intervals->chunks[slot / FD_GPU_INTERVALS_STEP]
                             [slot % FD_GPU_INTERVALS_STEP];
}

/* A slot of zeros with one reference, of the call; 0 without room. */
uint32_t fd_gpu_interval_take(fd_gpu_intervals *intervals);

/* Drop a reference. The event of a freed slot is returned to the pool. */
void fd_gpu_interval_release(fd_gpu_intervals *intervals, uint32_t slot,
                             fd_gpu_pool *pool);

void fd_gpu_intervals_clear(fd_gpu_intervals *intervals);

#endif
