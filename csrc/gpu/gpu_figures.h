/* What intervals add up to, in the recording: a record for each context that
 * had any, and each interval, as a line of the timeline and in the call for
 * execution traces that it is of. Any thread. */
#ifndef FD_GPU_FIGURES_H
#define FD_GPU_FIGURES_H

#include "base/map.h"
#include "recording/recording.h"

#include <pthread.h>

typedef struct fd_gpu_figures {
    fd_recording *recording; /* borrowed */
    pthread_mutex_t lock;
    fd_map records;       /* context -> place in the file / FD_ID_UNIT */
    fd_pool pool;         /* fd_gpu_record */
    fd_event_ring events; /* fd_gpu_event */
    fd_chunk *chunk;      /* of those, the one being filled; NULL: none yet */
    uint64_t ended;       /* intervals, in the timeline or lost */
    bool full;            /* later ones are lost */
} fd_gpu_figures;

/* An interval that is over. */
typedef struct fd_gpu_sample {
    fd_gpu_event event;
    uint32_t call;  /* fd_op_call; 0: it is of none */
    uint64_t total; /* ns */
    uint64_t self;
    bool launch_bound;
} fd_gpu_sample;

void fd_gpu_figures_init(fd_gpu_figures *figures, fd_recording *recording);
void fd_gpu_figures_clear(fd_gpu_figures *figures);

void fd_gpu_figures_add(fd_gpu_figures *figures, const fd_gpu_sample *sample);

/* A stream stood still for so many ns before a call that `context` made. */
void fd_gpu_figures_starve(fd_gpu_figures *figures, uint32_t context,
                           uint64_t ns);

#endif
