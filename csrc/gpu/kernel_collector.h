/* Kernels of the GPU, collected through CUPTI while a recorded step runs.
 *
 *     launch of the program ── callback ──► launch ring
 *                                              │ correlation id
 *     CUPTI ── full buffers ──► own thread ────┴──► figures of call paths
 *
 * Only the own thread reads buffers, and asks CUPTI to return them. At the end
 * of a window, launches are no longer noted, but kernels are still collected
 * until all that were noted have run, or only those are missing that were
 * captured into a graph, or for two seconds.
 *
 * CUPTI has one user at a time. The collector takes it only if a subscription
 * succeeds, and never changes what another tool has taken meanwhile.
 *
 * CUPTI's threads call this file until the process ends, without an argument:
 * so there is one collector per process, which is never freed. */
#ifndef FD_KERNEL_COLLECTOR_H
#define FD_KERNEL_COLLECTOR_H

#include "gpu/cupti_buffers.h"
#include "gpu/cupti_library.h"
#include "gpu/gpu_health.h"
#include "gpu/graph_nodes.h"
#include "gpu/kernel_figures.h"
#include "gpu/launch_ring.h"

#include <semaphore.h>

typedef enum fd_kernels_state {
    FD_KERNELS_OFF,
    FD_KERNELS_ON,      /* a recorded step runs */
    FD_KERNELS_DRAINING /* kernels of its launches are expected */
} fd_kernels_state;

/* Return the call that the calling thread runs, at a tick. Never waits. */
typedef fd_launcher fd_kernel_running(uint64_t now);

typedef struct fd_kernel_collector {
    fd_cupti cupti;
    int process; /* pid; a forked child must not use it */
    fd_kernel_running *running;
    bool times_calls;  /* for the timeline: how long a call of CUDA takes */
    void *subscriber;  /* NULL: not subscribed */
    _Atomic int state; /* fd_kernels_state */
    _Atomic uint32_t window; /* number of windows that have begun */
    uint64_t paused;         /* tick of the end of the window */
    fd_launch_ring launches;
    fd_graph_nodes nodes;
    fd_cupti_buffers buffers;
    fd_gpu_health health;       /* of the own thread */
    fd_kernel_figures *figures; /* owned; NULL between recordings */
    char problem[FD_PROBLEM];   /* why there are no kernels; "": none */
    uint64_t unknown;           /* kernels of windows without a launch */
    _Atomic uint64_t steps;     /* that were collected */
    uint64_t noted; /* ns that were divided at the last note of the result */
    /* The own thread, and what others have asked it for. */
    pthread_t thread;
    pthread_mutex_t reading; /* held while it uses the figures */
    sem_t asked;
    _Atomic uint64_t heard; /* tick of the last new kernel, or of the end of
                               the window */
    _Atomic bool ends;
    _Atomic bool stuck; /* it did not end: never used again */
} fd_kernel_collector;

/* Take the collector of the process for a recording. FD_EINVAL with a
 * sentence: there is no usable CUPTI. FD_ECONFLICT: it is in use. */
fd_status fd_kernels_open(fd_kernel_collector **collector,
                          fd_recording *recording, fd_kernel_running *running,
                          fd_error *error);

/* Return whether kernels can be collected now: FD_EINVAL or FD_ECONFLICT with a
 * sentence. `cupti` is set. */
fd_status fd_kernels_probe(fd_cupti *cupti, fd_error *error);

/* Begin to collect, unless another tool uses CUPTI: then return false and set
 * `problem`. `taken` states that torch.profiler uses it; `idle_device` has no
 * work, -1: not known. */
bool fd_kernels_start(fd_kernel_collector *collector, bool taken,
                      int idle_device);

/* Count the end of a collected step. */
void fd_kernels_step(fd_kernel_collector *collector);

/* End the window. If CUPTI is `taken`, no kernel is collected after it. */
void fd_kernels_pause(fd_kernel_collector *collector, bool taken);

/* Ask for the records of kernels that have run; after the last one of a
 * window, give CUPTI back. Does not wait. */
void fd_kernels_settle(fd_kernel_collector *collector, bool taken);

/* Return whether kernels are expected. */
bool fd_kernels_expected(const fd_kernel_collector *collector);

/* Sleep until no kernel is expected, for at most `patience_ms`. Return whether
 * some are. Never call it from a hook, or with the GIL. */
bool fd_kernels_wait(fd_kernel_collector *collector, int patience_ms);

/* Read the last records, end the own thread, and note the result in
 * the recording. Waits for at most a second. */
void fd_kernels_close(fd_kernel_collector *collector, bool taken);

#endif
