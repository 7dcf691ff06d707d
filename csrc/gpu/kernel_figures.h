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
#include "recording/measures/running_log.h"
#include "recording/recording.h"

#include <pthread.h>

enum { FD_RUNNING_LOGS = 64 };

typedef struct fd_kernel_figures {
    fd_recording *recording; /* borrowed */
    pthread_mutex_t lock;
    fd_index index; /* hash of context, name, device, stream -> id */
    fd_map names;   /* address of a name -> string; a hint */
    fd_pool pool;   /* fd_kernel_record */
    uint64_t count; /* of kernels that were added */
    uint64_t ns;
    fd_gpu_events events;   /* of the timeline */
    fd_busy_time busy;      /* ns of CUPTI's clock */
    bool open;              /* whether a window is to be ended */
    _Atomic uint64_t ended; /* tick of its end; 0: it runs */
    /* Borrowed; of the threads that launch kernels, and of the one that runs
     * the steps. */
    _Atomic(fd_running_log *) logs[FD_RUNNING_LOGS];
    _Atomic uint32_t log_count;
    _Atomic(fd_running_log *) main; /* NULL: not known */
    fd_anchor anchor;               /* converts times of CUPTI to ticks */
    double ticks_per_ns;
} fd_kernel_figures;

void fd_kernel_figures_init(fd_kernel_figures *figures,
                            fd_recording *recording);
void fd_kernel_figures_clear(fd_kernel_figures *figures);

/* Begin a window, in which the device had no work; -1: not known. End it: its
 * kernels may still come; `whole`: none of an earlier window will. */
void fd_kernel_figures_begin(fd_kernel_figures *figures, int idle_device,
                             bool whole);
void fd_kernel_figures_end(fd_kernel_figures *figures);

/* Measure from now on when the GPU is busy: the first steps of a training load
 * libraries, and are not like the others. */
void fd_kernel_figures_warm(fd_kernel_figures *figures);

/* Add the log of a thread that launches kernels, unless there are too many.
 * Never waits. */
void fd_kernel_figures_watch(fd_kernel_figures *figures, fd_running_log *log);

/* Divide the time of the GPUs among uses and causes: until a tick before which
 * all kernels were added; or all of it, after the last kernel of a window that
 * ended. Unless it is `whole`, the time after that kernel is not counted. */
void fd_kernel_figures_settle(fd_kernel_figures *figures, uint64_t until);
void fd_kernel_figures_finish(fd_kernel_figures *figures, bool whole);

/* A kernel with its launch. */
typedef struct fd_kernel_sample {
    fd_cupti_record record;
    fd_launcher launcher; /* context 0: a thread without a call path */
    uint32_t captured;    /* context that launched it into a CUDA graph; 0: it
                             is of the launcher */
    uint64_t launched;    /* tick; 0: unknown */
} fd_kernel_sample;

/* Add a kernel. Without space for it, or without its times, it is counted as
 * lost. */
void fd_kernel_figures_add(fd_kernel_figures *figures,
                           const fd_kernel_sample *kernel);

/* A kernel of a step that is not recorded: it is in no figure. */
void fd_kernel_figures_skip(fd_kernel_figures *figures,
                            const fd_cupti_record *kernel);

#endif
