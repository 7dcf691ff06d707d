/* Kernels, copies and fills in the recording: sums per call path, name, device
 * and stream, an event of the timeline each, and the GPU time of calls of
 * execution traces. Any thread may call these functions. */
#ifndef FD_KERNEL_FIGURES_H
#define FD_KERNEL_FIGURES_H

#include "base/index.h"
#include "base/map.h"
#include "gpu/busy_time.h"
#include "gpu/cupti_library.h"
#include "gpu/gpu_events.h"
#include "gpu/launch_ring.h"
#include "recording/recording.h"

#include <pthread.h>

typedef struct fd_kernel_figures {
    fd_recording *recording; /* borrowed */
    pthread_mutex_t lock;
    fd_index index; /* hash of context, name, device, stream -> id */
    fd_map names;   /* address of a name -> string; a hint */
    fd_pool pool;   /* fd_kernel_record */
    uint64_t count; /* of kernels that were added */
    uint64_t ns;
    fd_gpu_events events; /* of the timeline */
    fd_busy_time busy;    /* ticks; ids are those of records */
    bool warm;            /* after the first steps: busy time is measured */
    uint64_t warmed;      /* tick at which that began */
    uint64_t window;      /* ticks of the windows since then */
    uint64_t began;       /* tick; 0: no window is open */
    fd_anchor anchor;     /* converts times of CUPTI to ticks */
    double ticks_per_ns;
} fd_kernel_figures;

void fd_kernel_figures_init(fd_kernel_figures *figures,
                            fd_recording *recording);
void fd_kernel_figures_clear(fd_kernel_figures *figures);

/* Begin a window: take the anchor of its times. End it. */
void fd_kernel_figures_begin(fd_kernel_figures *figures);
void fd_kernel_figures_end(fd_kernel_figures *figures);

/* Measure from now on when the GPU is busy: the first steps of a training load
 * libraries, and are not like the others. */
void fd_kernel_figures_warm(fd_kernel_figures *figures);

/* Settle when the GPU was idle, after the last kernel of a window. */
void fd_kernel_figures_settle(fd_kernel_figures *figures);

/* A kernel with its launch. */
typedef struct fd_kernel_sample {
    fd_cupti_record record;
    fd_launcher launcher; /* context 0: a thread without a call path */
    uint64_t launched;    /* tick; 0: unknown */
} fd_kernel_sample;

/* Add a kernel. Without space for it, or without its times, it is counted as
 * lost. */
void fd_kernel_figures_add(fd_kernel_figures *figures,
                           const fd_kernel_sample *kernel);

#endif
