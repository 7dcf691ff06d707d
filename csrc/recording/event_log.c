#include "recording/event_log.h"

enum {
    FIRST_CHUNK = 8 * 1024, /* bytes; small, for threads with few events */
    LARGEST_CHUNK = 1024 * 1024
};

static size_t
next_bytes(const fd_event_ring *ring)
{
    if (ring->chunks.count == 0) {
        return FIRST_CHUNK;
    }
    size_t bytes = 2 * ring->chunks.list[ring->chunks.count - 1]->bytes;
    return bytes < LARGEST_CHUNK ? bytes : LARGEST_CHUNK;
}

/* Return whether there is space for a chunk of `bytes`. Check this first,
 * because fd_file_chunk counts a refusal as a full disk. */
static bool
ring_has_space(const fd_event_ring *ring, const fd_timeline *timeline,
               const fd_file *file, size_t bytes)
{
    bool first = ring->chunks.count == 0;
    return (first || timeline->bytes + bytes <= timeline->max_bytes)
        && fd_file_fits(file, bytes);
}

static fd_chunk *
append_chunk(fd_event_ring *ring, fd_timeline *timeline, fd_file *file,
             uint64_t written)
{
    fd_chunk *chunk;
    size_t bytes = next_bytes(ring);
    if (!ring_has_space(ring, timeline, file, bytes)
        || fd_vector_reserve(&ring->chunks, 1) != FD_OK
        || fd_file_chunk(file, ring->kind, ring->record_bytes, bytes,
                         ring->owner, &chunk)
               != FD_OK) {
        return NULL;
    }
    timeline->bytes += bytes;
    chunk->first = written;
    ring->chunks.list[ring->chunks.count++] = chunk;
    return chunk;
}

/* Reuse the oldest chunk. It is emptied before it gets its new position, so
 * that readers never see old events there. */
static fd_chunk *
turn_ring(fd_event_ring *ring, uint64_t written, uint32_t *lost)
{
    fd_chunk *chunk = ring->chunks.list[ring->oldest];
    ring->oldest = (ring->oldest + 1) % ring->chunks.count;
    *lost = chunk->used;
    atomic_store_explicit(&chunk->used, 0, memory_order_release);
    atomic_store_explicit(&chunk->first, written, memory_order_release);
    /* Order: empty chunk, then new events. */
    atomic_thread_fence(memory_order_release);
    return chunk;
}

fd_chunk *
fd_event_ring_next(fd_event_ring *ring, fd_timeline *timeline, fd_file *file,
                   uint64_t written, uint32_t *lost)
{
    fd_chunk *chunk = NULL;
    *lost = 0;
    /* A ring in use grows at the index of its oldest chunk. */
    if (ring->oldest == 0) {
        chunk = append_chunk(ring, timeline, file, written);
    }
    return chunk == NULL && timeline->overwrites && ring->chunks.count > 0
             ? turn_ring(ring, written, lost)
             : chunk;
}

void
fd_event_ring_clear(fd_event_ring *ring)
{
    fd_vector_clear(&ring->chunks);
    *ring = (fd_event_ring){.kind = 0};
}

static bool
next_chunk(fd_events *events, fd_timeline *timeline, fd_file *file,
           fd_thread_record *record)
{
    uint32_t lost;
    fd_chunk *chunk = fd_event_ring_next(&events->ring, timeline, file,
                                         record->events, &lost);
    if (chunk == NULL) {
        return false;
    }
    record->events_lost += lost;
    events->chunk = chunk;
    events->next = fd_chunk_records(chunk);
    events->end = events->next + chunk->capacity;
    return true;
}

void
fd_events_open(fd_events *events, fd_timeline *timeline, fd_file *file,
               fd_thread_record *record)
{
    events->ring = (fd_event_ring){.kind = FD_CHUNK_EVENTS,
                                   .record_bytes = sizeof(fd_event),
                                   .owner = fd_file_id(file, record)};
    if (timeline->on && next_chunk(events, timeline, file, record)) {
        for (int i = 0; i < FD_TIMELINE_KINDS; i++) {
            events->shortest[i] = timeline->shortest[i];
        }
    }
}

fd_event *
fd_events_room(fd_events *events, fd_timeline *timeline, fd_file *file,
               fd_thread_record *record)
{
    events->full = !next_chunk(events, timeline, file, record);
    return events->full ? NULL : events->next;
}

void
fd_events_clear(fd_events *events)
{
    fd_event_ring_clear(&events->ring);
    *events = (fd_events){.next = NULL};
}
