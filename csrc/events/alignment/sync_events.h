/* Data in a trace for the alignment of clocks: begin and end of collectives,
 * times of messages. Python numbers and samples them
 * (read/clock_samples.py). */
#ifndef FD_SYNC_EVENTS_H
#define FD_SYNC_EVENTS_H

#include "base/vector.h"
#include "events/merged_ids.h"

enum {
    FD_TIMELINE_MOST_PARTS = 1 << 18, /* per trace */
    FD_TIMELINE_SYNC_OPEN = 16        /* open at the same time */
};

#define FD_TIMELINE_NO_PEER UINT32_MAX /* unknown */

/* A message. Its send and its receive have the same tag and order. */
typedef struct fd_timeline_message {
    uint32_t peer; /* rank */
    bool received;
    uint64_t tag;
    int64_t time; /* when sending began; when receiving ended */
} fd_timeline_message;

/* The part of a rank in a collective. All parts of a collective have the same
 * kind (group, name and sizes) and order. */
typedef struct fd_timeline_part {
    uint64_t kind;
    uint64_t order; /* with `exact`; otherwise they are in order of time */
    bool exact;
    int64_t begin; /* on the clock of the rank */
    int64_t end;
} fd_timeline_part;

/* The kind of an open slice. */
typedef struct fd_sync_slice {
    enum {
        FD_SYNC_NONE,
        FD_SYNC_PART,
        FD_SYNC_MESSAGE,
        FD_SYNC_RECEIVING
    } what;
    fd_timeline_part part;
    fd_timeline_message message; /* `time` is when the slice begins */
} fd_sync_slice;

/* An open slice: its end is a separate event. */
typedef struct fd_timeline_begun {
    uint64_t key;   /* of the thread, or of the id */
    uint32_t inner; /* number of open slices inside */
    fd_sync_slice slice;
} fd_timeline_begun;

typedef struct fd_timeline_sync {
    FD_VECTOR(fd_timeline_part) parts;
    FD_VECTOR(fd_timeline_message) messages;
    /* The following members are used while reading. */
    uint32_t begun_count;
    fd_timeline_begun begun[FD_TIMELINE_SYNC_OPEN];
    bool receiving; /* inside c10d::recv_, which ends at `pending_end` */
    fd_timeline_message pending;
    int64_t pending_end;
} fd_timeline_sync;

/* Examine an event. */
fd_status fd_timeline_sync_event(fd_timeline_sync *sync,
                                 const fd_timeline_event *event);

/* Add a slice of which only the name and the times are known. */
fd_status fd_timeline_sync_slice(fd_timeline_sync *sync, fd_span name,
                                 int64_t begin, int64_t end);

void fd_timeline_sync_clear(fd_timeline_sync *sync);

#endif
