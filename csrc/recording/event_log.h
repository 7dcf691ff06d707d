/* The timeline: every call that ends leaves one fd_event of 24 bytes in chunks
 * of its thread.
 *
 *     ring   [ chunk | chunk | chunk ]
 *                               ^ next .. end: room for events
 *
 * Events that do not fit and overwritten events are counted in the thread
 * record. Only the owner writes; adding a chunk takes the recording's lock. */
#ifndef FD_EVENT_LOG_H
#define FD_EVENT_LOG_H

#include "recording/event_ring.h"

/* The events of one thread. All zero: no timeline. */
typedef struct fd_events {
    fd_event *next;
    fd_event *end;
    fd_chunk *chunk; /* the chunk being filled; NULL: no timeline */
    uint64_t shortest[FD_TIMELINE_KINDS];
    fd_event_ring ring;
    bool full; /* no space: later events are lost */
} fd_events;

/* Create the first chunk of a thread. If there is no space, the thread has no
 * timeline and its lost events are not counted. The caller holds the
 * recording's lock. */
void fd_events_open(fd_events *events, fd_timeline *timeline, fd_file *file,
                    fd_thread_record *record);

/* Return space for one more event, or NULL if it is lost. The caller holds the
 * recording's lock. */
fd_event *fd_events_room(fd_events *events, fd_timeline *timeline,
                         fd_file *file, fd_thread_record *record);

void fd_events_clear(fd_events *events);

static inline void
fd_events_put(fd_events *events, fd_event *at, fd_event event)
{
    uint32_t used =
        atomic_load_explicit(&events->chunk->used, memory_order_relaxed);
    *at = event;
    events->next = at + 1;
    atomic_store_explicit(&events->chunk->used, used + 1,
                          memory_order_release);
}

#endif
