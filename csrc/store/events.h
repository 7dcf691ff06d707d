/* The timeline: every call that ends leaves one fd_event of 24 bytes in chunks
 * of its thread, in the same file.
 *
 *     ring   [ chunk | chunk | chunk ]      oldest chunk first
 *                               ^ next .. end: room for events
 *
 * When the share of the file is used up, later events are lost, or the oldest
 * chunk of the thread is filled anew; either is counted in the thread record.
 * The owner alone writes; a new chunk takes the recording's lock. */
#ifndef FD_STORE_EVENTS_H
#define FD_STORE_EVENTS_H

#include "base/vector.h"
#include "store/file.h"

/* What entries are told apart by here. */
enum {
    FD_TIMELINE_PYTHON,
    FD_TIMELINE_OPS, /* operators and autograd nodes */
    FD_TIMELINE_RANGES,
    FD_TIMELINE_JOBS,
    FD_TIMELINE_KINDS
};

/* What a recording wants of its timeline. */
typedef struct fd_timeline {
    bool on;
    bool overwrites; /* the oldest; otherwise the newest are lost */
    bool numbers;    /* calls of operators, as torch.profiler does */
    uint64_t shortest[FD_TIMELINE_KINDS]; /* ticks; what is shorter is left
                                             out. UINT64_MAX: all of it */
    size_t max_bytes;
    size_t bytes;
} fd_timeline;

/* Of one thread. All zero: no timeline. */
typedef struct fd_events {
    fd_event *next;
    fd_event *end;
    fd_chunk *chunk;  /* that they lie in; NULL: no timeline */
    uint64_t shortest[FD_TIMELINE_KINDS];
    FD_VECTOR(fd_chunk *) ring;
    uint32_t oldest; /* place in the ring, once it turns */
    bool full;       /* later ones are lost */
} fd_events;

/* The first chunk of a thread; without room it has no timeline, and what it
 * would have is not counted. Under the lock. */
void fd_events_open(fd_events *events, fd_timeline *timeline, fd_file *file,
                    const fd_thread_record *record);

/* Room for one more event; NULL: it is lost. Under the lock. */
fd_event *fd_events_room(fd_events *events, fd_timeline *timeline,
                         fd_file *file, fd_thread_record *record);

void fd_events_clear(fd_events *events);

static inline void
fd_events_put(fd_events *events, fd_event *at, fd_event event)
{
    uint32_t used = atomic_load_explicit(&events->chunk->used,
                                         memory_order_relaxed);
    *at = event;
    events->next = at + 1;
    atomic_store_explicit(&events->chunk->used, used + 1,
                          memory_order_release);
}

#endif
