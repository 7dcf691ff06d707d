/* Marks on the streams of one GPU, and the intervals between them.
 *
 *     hooks ── begin, end ──► stream queue ── drain, by query ──► figures
 *                 │ event                       │ when the GPU passed it
 *                 └──────◄──── pool ◄───────────┘
 *
 * Nothing here ever waits for the GPU, or for another thread: the device's
 * lock is tried once. Who does not get it goes without the interval, and that
 * is counted. (A thread may stand in cudaEventRecord for long, when the GPU has
 * all the work it can queue; one that holds the GIL must not wait for it.)
 *
 * The first error of CUDA's ends all timing on this device. */
#ifndef FD_GPU_DEVICE_H
#define FD_GPU_DEVICE_H

#include "gpu/clock_anchors.h"
#include "gpu/gpu_figures.h"
#include "gpu/gpu_intervals.h"
#include "gpu/gpu_streams.h"

typedef struct fd_gpu_device {
    const fd_cudart *cuda;
    fd_gpu_figures *figures;
    uint64_t (*now)(void);
    double ticks_per_ns;
    int number;
    bool starves; /* launches are marked one and all: see docs/guides/gpu.md */
    pthread_mutex_t lock;
    _Atomic bool failed;
    bool open; /* there is a pool, and an anchor */
    bool warm; /* nothing is created between steps any more */
    fd_gpu_pool pool;
    fd_gpu_anchors anchors;
    fd_gpu_intervals intervals;
    FD_VECTOR(fd_gpu_stream) streams;
    uint64_t marks;
    int error; /* CUDA's number, and what answered it; 0: none */
    const char *failing;
    bool stuck; /* another thread held the lock when it was closed */
} fd_gpu_device;

/* What a hook knows of a call that begins. */
typedef struct fd_gpu_call {
    void *stream;
    uint32_t caller;
    uint32_t thread;
    uint32_t call;          /* for execution traces; 0: none */
    uint32_t window;        /* all launches between two calls of one window are
                        marked ones */
    const uint32_t *around; /* open intervals of this thread on this device,
                               outermost first */
    uint32_t depth;
} fd_gpu_call;

void fd_gpu_device_init(fd_gpu_device *device, const fd_cudart *cuda,
                        fd_gpu_figures *figures, int number);

/* Mark the begin of a call; 0: it is not timed, which is counted. The device
 * is the thread's current one. */
uint32_t fd_gpu_device_begin(fd_gpu_device *device, const fd_gpu_call *call);

/* Mark its end, as a call of `context`. The same device is current. */
void fd_gpu_device_end(fd_gpu_device *device, uint32_t slot, uint32_t context);

/* Its end was missed. Any thread. */
void fd_gpu_device_drop(fd_gpu_device *device, uint32_t slot);

/* Take in what the GPU has passed; `grows`: the pool too, if it ran dry. The
 * thread's current device must be one that CUDA is in use on. */
void fd_gpu_device_drain(fd_gpu_device *device, bool grows);

/* Whether there are marks left to pass. */
bool fd_gpu_device_is_busy(fd_gpu_device *device);

/* No more marks. Counts the intervals without an end, unless another thread
 * holds the lock right now. Later calls of hooks do nothing. */
void fd_gpu_device_close(fd_gpu_device *device);

/* Free everything. `alive` as for the pool. No hook runs any more. */
void fd_gpu_device_clear(fd_gpu_device *device, bool alive);

#endif
