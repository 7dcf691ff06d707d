/* The chunks that one series of events is in, and where its next one is.
 *
 *     chunks  [ chunk | chunk | chunk | chunk ]     as they were made
 *               └ in the recording ┘  └ in its side file
 *
 * Events have a share of the recording. When it is used up the next chunk is
 * in the side file, if the recording has one, or the oldest is filled again,
 * or there is none. All of it under the recording's lock. */
#ifndef FD_EVENT_RING_H
#define FD_EVENT_RING_H

#include "base/vector.h"
#include "recording/recording_file.h"

/* What entries are distinguished by in a timeline. */
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
    size_t max_bytes;                     /* in the recording */
    size_t bytes;
    size_t max_spill; /* bytes of the side file; 0: none */
} fd_timeline;

typedef struct fd_event_ring {
    uint32_t kind; /* of the chunks, as those below */
    uint32_t record_bytes;
    uint32_t owner;
    FD_VECTOR(fd_chunk *) chunks;
    uint32_t oldest; /* place of it, once the ring turns */
} fd_event_ring;

/* The chunk to fill when `written` events of the series came before; `lost`:
 * how many were in it. NULL: there is no room. The first one is made whatever
 * the share is. */
fd_chunk *fd_event_ring_next(fd_event_ring *ring, fd_timeline *timeline,
                             fd_file *file, uint64_t written, uint32_t *lost);

void fd_event_ring_clear(fd_event_ring *ring);

#endif
