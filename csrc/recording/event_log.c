#include "recording/event_log.h"

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
