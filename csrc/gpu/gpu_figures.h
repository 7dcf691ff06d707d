/* Intervals in the recording: sums per context, an event of the timeline per
 * interval, and the GPU time of calls of execution traces. Any thread may call
 * these functions. */
#ifndef FD_GPU_FIGURES_H
#define FD_GPU_FIGURES_H

#include "base/map.h"
#include "recording/recording.h"

#include <pthread.h>

typedef struct fd_gpu_figures {
    fd_recording *recording; /* borrowed */
    pthread_mutex_t lock;
    fd_map records;       /* context -> offset in the file / FD_ID_UNIT */
    fd_pool pool;         /* fd_gpu_record */
    fd_event_ring events; /* fd_gpu_event */
    fd_chunk *chunk;      /* latest chunk of `events`; NULL: none yet */
    uint64_t ended;       /* number of intervals, in the timeline or lost */
    bool full;            /* no space: later intervals are lost */
} fd_gpu_figures;

/* A complete interval. */
typedef struct fd_gpu_sample {
    fd_gpu_event event;
    uint32_t call;  /* fd_op_call; 0: not recorded */
    uint64_t total; /* ns */
    uint64_t self;
    bool launch_bound;
} fd_gpu_sample;

void fd_gpu_figures_init(fd_gpu_figures *figures, fd_recording *recording);
void fd_gpu_figures_clear(fd_gpu_figures *figures);

void fd_gpu_figures_add(fd_gpu_figures *figures, const fd_gpu_sample *sample);

/* Add `ns` of idle time of a stream before a call of `context`. */
void fd_gpu_figures_starve(fd_gpu_figures *figures, uint32_t context,
                           uint64_t ns);

#endif
