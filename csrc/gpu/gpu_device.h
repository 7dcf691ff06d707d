/* Timestamps on the streams of one GPU, and the intervals between them.
 *
 *     hooks ── begin, end ──► stream queue ── drain, by query ──► figures
 *                 │ event                       │ when the GPU passed it
 *                 └──────◄──── pool ◄───────────┘
 *
 * No function waits for the GPU or for another thread: a function tries the
 * lock of the device once; if another thread holds it, the interval is lost
 * and counted. (A thread may block for a long time in cudaEventRecord if the
 * queue of the GPU is full; threads with the GIL must not wait for it.)
 *
 * The first CUDA error ends all timing on this device. */
#ifndef FD_GPU_DEVICE_H
#define FD_GPU_DEVICE_H

#include "gpu/clock_anchors.h"
#include "gpu/gpu_figures.h"
#include "gpu/gpu_intervals.h"
#include "gpu/gpu_streams.h"

typedef struct fd_gpu_device {
    const fd_gpu_runtime *runtime;
    fd_gpu_figures *figures;
    uint64_t (*now)(void);
    double ticks_per_ns;
    int number;
    pthread_mutex_t lock;
    _Atomic bool failed;
    bool open; /* whether it has a pool and an anchor */
    bool warm; /* after the first recorded step: create events only between
                  steps */
    fd_gpu_pool pool;
    fd_gpu_anchors anchors;
    fd_gpu_intervals intervals;
    FD_VECTOR(fd_gpu_stream) streams;
    uint64_t timestamps;
    int error;           /* CUDA's error code; 0: none */
    const char *failing; /* name of the function, without "cuda" or "hip" */
    bool stuck;          /* another thread held the lock at the close */
} fd_gpu_device;

/* Description of a call that begins, from the hook. */
typedef struct fd_gpu_call {
    void *stream;
    uint32_t thread;
    const uint32_t *around; /* open intervals of this thread on this device,
                               outermost first */
    uint32_t depth;
} fd_gpu_call;

void fd_gpu_device_init(fd_gpu_device *device, const fd_gpu_runtime *runtime,
                        fd_gpu_figures *figures, int number);

/* Begin timing a call and return its slot, or 0 if it is not timed, which is
 * counted. The device must be the current one of the thread. */
uint32_t fd_gpu_device_begin(fd_gpu_device *device, const fd_gpu_call *call);

/* End the interval of `slot`, as a call of `context`. The same device must be
 * current. */
void fd_gpu_device_end(fd_gpu_device *device, uint32_t slot, uint32_t context);

/* End the interval of `slot` without a time. Any thread may call it. */
void fd_gpu_device_drop(fd_gpu_device *device, uint32_t slot);

/* Collect the timestamps that the GPU has reached. With `grows`, the pool may
 * grow if it ran empty. CUDA must be initialised on the current device of the
 * thread. */
void fd_gpu_device_drain(fd_gpu_device *device, bool grows);

/* Return whether timestamps are queued. */
bool fd_gpu_device_is_busy(fd_gpu_device *device);

/* Stop timing and count the unfinished intervals, unless another thread holds
 * the lock. Later calls from hooks do nothing. */
void fd_gpu_device_close(fd_gpu_device *device);

/* Free the device; `alive` as in fd_gpu_pool_clear. No hook may run any
 * more. */
void fd_gpu_device_clear(fd_gpu_device *device, bool alive);

#endif
