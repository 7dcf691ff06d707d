/* Events of the timeline of GPUs. The owner serialises all calls. */
#ifndef FD_GPU_EVENTS_H
#define FD_GPU_EVENTS_H

#include "recording/gpu_format.h"
#include "recording/recording.h"

typedef struct fd_gpu_events {
    fd_recording *recording; /* borrowed */
    fd_event_ring ring;
    fd_chunk *chunk; /* latest chunk of the ring; NULL: none yet */
    uint64_t ended;  /* number of events, in the timeline or lost */
    bool full;       /* no space: later events are lost */
} fd_gpu_events;

/* Events of a size, in chunks of a kind. */
void fd_gpu_events_init(fd_gpu_events *events, fd_recording *recording,
                        uint32_t kind, uint32_t record_bytes);
void fd_gpu_events_clear(fd_gpu_events *events);

/* Add an event, or count it if there is no space; nothing without a
 * timeline. Takes the recording's lock. */
void fd_gpu_events_add(fd_gpu_events *events, const void *event);

#endif
