/* Intervals in the recording: sums per context, and an event of the timeline
 * per interval. Any thread may call these functions. */
#ifndef FD_GPU_FIGURES_H
#define FD_GPU_FIGURES_H

#include "base/map.h"
#include "gpu/gpu_events.h"

#include <pthread.h>

typedef struct fd_gpu_figures {
    fd_recording *recording; /* borrowed */
    pthread_mutex_t lock;
    fd_map records;       /* context -> offset in the file / FD_ID_UNIT */
    fd_pool pool;         /* fd_gpu_record */
    fd_gpu_events events; /* of the timeline */
} fd_gpu_figures;

/* A complete interval. */
typedef struct fd_gpu_sample {
    fd_gpu_event event;
    uint64_t total; /* ns */
    uint64_t self;
    bool launch_bound;
} fd_gpu_sample;

void fd_gpu_figures_init(fd_gpu_figures *figures, fd_recording *recording);
void fd_gpu_figures_clear(fd_gpu_figures *figures);

void fd_gpu_figures_add(fd_gpu_figures *figures, const fd_gpu_sample *sample);

#endif
