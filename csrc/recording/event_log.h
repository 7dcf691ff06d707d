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

#include "base/vector.h"
#include "recording/recording_file.h"

/* Kinds of entries in a timeline. */
enum {
    FD_TIMELINE_PYTHON,
    FD_TIMELINE_OPS, /* operators and autograd nodes */
    FD_TIMELINE_RANGES,
    FD_TIMELINE_JOBS,
    FD_TIMELINE_KINDS
};

/* The timeline options of a recording. */
typedef struct fd_timeline {
    bool on;
    bool jobs;       /* keep records of jobs, which need no timeline */
    bool overwrites; /* drop the oldest events; otherwise the newest */
    bool numbers;    /* number calls of operators as torch.profiler does */
    uint64_t shortest[FD_TIMELINE_KINDS]; /* ticks; shorter calls are skipped.
                                             UINT64_MAX: skip all calls */
    size_t max_bytes;                     /* limit in the recording */
    size_t bytes;
} fd_timeline;

/* The chunks of one series of events, of threads or of GPUs. Events have a
 * share of the recording. When it is used up, the oldest chunk is reused, or
 * the timeline stops. Its functions are called under the recording's lock. */
typedef struct fd_event_ring {
    uint32_t kind; /* kind of the chunks, like the two fields below */
    uint32_t record_bytes;
    uint32_t owner;
    FD_VECTOR(fd_chunk *) chunks;
    uint32_t oldest; /* index of the oldest, once the ring is full */
} fd_event_ring;

/* Return the chunk for the next event, after `written` events; set `lost` to
 * the number of events that it held before. Return NULL if there is no space.
 * The first chunk is created regardless of the limit. */
fd_chunk *fd_event_ring_next(fd_event_ring *ring, fd_timeline *timeline,
                             fd_file *file, uint64_t written, uint32_t *lost);

void fd_event_ring_clear(fd_event_ring *ring);

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
