#include "gpu/gpu_events.h"

#include <string.h>

void
fd_gpu_events_init(fd_gpu_events *events, fd_recording *recording,
                   uint32_t kind, uint32_t record_bytes)
{
    *events =
        (fd_gpu_events){.recording = recording,
                        .ring = {.kind = kind, .record_bytes = record_bytes}};
}

void
fd_gpu_events_clear(fd_gpu_events *events)
{
    fd_event_ring_clear(&events->ring);
}

/* Return space for an event; GPUs and calls share the limit of the timeline.
 * The caller holds the recording's lock. */
static void *
room_for_event(fd_gpu_events *events)
{
    fd_recording *recording = events->recording;
    const fd_chunk *chunk = events->chunk;
    uint32_t lost = 0;
    if (!events->full && (chunk == NULL || chunk->used == chunk->capacity)) {
        events->chunk =
            fd_event_ring_next(&events->ring, &recording->timeline,
                               &recording->file, events->ended, &lost);
        events->full = events->chunk == NULL;
    }
    fd_file_add(&recording->file, FD_COUNT_GPU_EVENTS_LOST, lost);
    return events->full
             ? NULL
             : (char *)fd_chunk_records(events->chunk)
                   + (size_t)events->chunk->used * events->ring.record_bytes;
}

void
fd_gpu_events_add(fd_gpu_events *events, const void *event)
{
    fd_recording *recording = events->recording;
    if (!recording->timeline.on) {
        return;
    }
    pthread_mutex_lock(&recording->lock);
    void *to = room_for_event(events);
    events->ended++;
    if (to != NULL) {
        memcpy(to, event, events->ring.record_bytes);
        atomic_store_explicit(&events->chunk->used, events->chunk->used + 1,
                              memory_order_release);
    }
    pthread_mutex_unlock(&recording->lock);
    if (to == NULL) {
        fd_file_count(&recording->file, FD_COUNT_GPU_EVENTS_LOST);
    }
}
