/* The chunks of one series of events, and the choice of the next chunk.
 *
 * Events have a share of the recording. When it is used up, the oldest chunk
 * is reused, or the timeline stops. All functions are called under the recording's lock. */
#ifndef FD_EVENT_RING_H
#define FD_EVENT_RING_H

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

#endif
