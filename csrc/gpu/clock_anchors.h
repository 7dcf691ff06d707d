/* Conversion from the clock of a GPU to the clock of the host. An anchor is an
 * event whose time on the host's clock is known: it is recorded on a separate
 * stream without other work and polled until the GPU has reached it.
 *
 *     host clock  ──h0────────h1──────────────── timestamp ──►
 *                     ^ anchor: the middle, uncertainty (h1 - h0) / 2
 *     GPU clock   ────a───────────────────────── m ────►
 *                     └── cudaEventElapsedTime ──┘
 *
 * CUDA returns milliseconds as float32, which is 0.12 us off at 2 s and 0.12
 * ms at an hour. So a timestamp is measured from a nearby anchor, and every
 * anchor is measured on the host's clock: errors do not accumulate. The chain
 * of anchors only yields the rate of the GPU's clock relative to the
 * host's. */
#ifndef FD_CLOCK_ANCHORS_H
#define FD_CLOCK_ANCHORS_H

#include "gpu/gpu_runtime.h"

#include <stdint.h>

enum { FD_GPU_ANCHORS = 8 };

typedef struct fd_gpu_anchor {
    void *event;    /* owned */
    int64_t host;   /* ticks */
    uint64_t width; /* h1 - h0 */
    double gpu;     /* ns since the first anchor */
} fd_gpu_anchor;

typedef struct fd_gpu_anchors {
    const fd_gpu_runtime *runtime;
    uint64_t (*now)(void);              /* the host's clock in ticks */
    double nominal;                     /* ticks per ns */
    double rate;                        /* ticks per ns of the GPU's clock */
    void *stream;                       /* owned */
    void *spare;                        /* owned: event of the next attempt */
    fd_gpu_anchor list[FD_GPU_ANCHORS]; /* a ring */
    uint32_t count;                     /* number of anchors measured so far */
    uint64_t next;                      /* earliest tick of the next attempt */
} fd_gpu_anchors;

/* Create a stream and events on the current device. Returns CUDA's error, as
 * do all functions below; `anchors` may be cleared after an error. */
int fd_gpu_anchors_open(fd_gpu_anchors *anchors, const fd_gpu_runtime *runtime,
                        uint64_t (*now)(void), double ticks_per_ns);
void fd_gpu_anchors_clear(fd_gpu_anchors *anchors, bool alive);

/* Return whether a new anchor is needed: 2 s after the latest one, or 0.2 s
 * after a failed attempt. */
static inline bool
fd_gpu_anchors_are_old(const fd_gpu_anchors *anchors, uint64_t now)
{
    return now >= anchors->next;
}

/* Measure an anchor: the best of several attempts, at most half a millisecond
 * in total. If all fail, nothing changes. */
int fd_gpu_anchors_take(fd_gpu_anchors *anchors);

/* Set `host` to the time on the host's clock at which the GPU reached `event`.
 * The GPU must have reached it, and there must be an anchor. */
int fd_gpu_anchors_map(const fd_gpu_anchors *anchors, void *event,
                       int64_t *host);

static inline const fd_gpu_anchor *
fd_gpu_anchors_latest(const fd_gpu_anchors *anchors)
{
    return &anchors->list[(anchors->count - 1) % FD_GPU_ANCHORS];
}

#endif
