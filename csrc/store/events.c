#include "store/events.h"

enum {
    FIRST_CHUNK = 8 * 1024, /* bytes; for threads that do little */
    LARGEST_CHUNK = 1024 * 1024
};

static void
fill(fd_events *events, fd_chunk *chunk)
{
    events->chunk = chunk;
    events->next = fd_chunk_records(chunk);
    events->end = events->next + chunk->capacity;
}

static bool
append(fd_events *events, fd_timeline *timeline, fd_file *file,
       const fd_thread_record *record, size_t bytes)
{
    fd_chunk *chunk;
    if (fd_vector_reserve(&events->ring, 1) != FD_OK
        || fd_file_chunk(file, FD_CHUNK_EVENTS, sizeof(fd_event), bytes,
                         fd_file_id(file, record), &chunk)
               != FD_OK) {
        return false;
    }
    timeline->bytes += bytes;
    chunk->first = record->events;
    events->ring.list[events->ring.count++] = chunk;
    fill(events, chunk);
    return true;
}

void
fd_events_open(fd_events *events, fd_timeline *timeline, fd_file *file,
               const fd_thread_record *record)
{
    if (timeline->on
        && append(events, timeline, file, record, FIRST_CHUNK)) {
        for (int i = 0; i < FD_TIMELINE_KINDS; i++) {
            events->shortest[i] = timeline->shortest[i];
        }
    }
}

/* Readers see an empty chunk before they see its new place in the order. */
static void
turn(fd_events *events, fd_thread_record *record)
{
    fd_chunk *chunk = events->ring.list[events->oldest];
    events->oldest = (events->oldest + 1) % events->ring.count;
    record->events_lost += chunk->used;
    atomic_store_explicit(&chunk->used, 0, memory_order_release);
    atomic_store_explicit(&chunk->first, record->events,
                          memory_order_release);
    fill(events, chunk);
}

fd_event *
fd_events_room(fd_events *events, fd_timeline *timeline, fd_file *file,
               fd_thread_record *record)
{
    size_t bytes = 2 * events->chunk->bytes;
    if (bytes > LARGEST_CHUNK) {
        bytes = LARGEST_CHUNK;
    }
    /* A ring that has turned grows where its oldest chunk is its first. */
    if (events->oldest == 0 && timeline->bytes + bytes <= timeline->max_bytes
        && append(events, timeline, file, record, bytes)) {
        return events->next;
    }
    if (!timeline->overwrites) {
        events->full = true;
        return NULL;
    }
    turn(events, record);
    return events->next;
}

void
fd_events_clear(fd_events *events)
{
    fd_vector_clear(&events->ring);
    *events = (fd_events){.next = NULL};
}
