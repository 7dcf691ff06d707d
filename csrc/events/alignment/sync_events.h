/* What a trace contains for the alignment of clocks: begin and end of
 * collectives, times of messages, pings. Of a long trace an evenly spread
 * part. */
#ifndef FD_SYNC_EVENTS_H
#define FD_SYNC_EVENTS_H

#include "base/vector.h"
#include "clocks/clock_collectives.h"
#include "events/merged_ids.h"

enum {
    FD_TIMELINE_PARTS = 4096,         /* kept of a trace */
    FD_TIMELINE_MOST_PARTS = 1 << 18, /* examined per trace */
    FD_TIMELINE_MOST_PINGS = 4096,
    FD_TIMELINE_SYNC_OPEN = 16 /* open at one time */
};

#define FD_TIMELINE_NO_PEER UINT32_MAX /* until the end of reading */

/* The two ends of a message have the same tag and order. */
typedef struct fd_timeline_message {
    uint32_t peer; /* rank */
    bool received;
    uint64_t tag;
    uint64_t order; /* among those with that peer and tag */
    uint64_t total; /* of them */
    int64_t time;   /* when sending began; when receiving ended */
} fd_timeline_message;

typedef struct fd_timeline_ping {
    uint32_t peer;      /* rank that replied */
    fd_clock_ping ping; /* by the clocks of the machines, since their start */
} fd_timeline_ping;

/* The kind of an open slice. */
typedef struct fd_sync_slice {
    enum {
        FD_SYNC_NONE,
        FD_SYNC_PART,
        FD_SYNC_MESSAGE,
        FD_SYNC_RECEIVING
    } what;
    fd_clock_part part;
    fd_timeline_message message; /* its time is the begin */
} fd_sync_slice;

/* An open slice, whose end is a separate event. */
typedef struct fd_timeline_begun {
    uint64_t key;   /* of its thread, or of its id */
    uint32_t inner; /* open slices inside */
    fd_sync_slice slice;
} fd_timeline_begun;

typedef struct fd_timeline_sync {
    FD_VECTOR(fd_clock_part) parts; /* `member` is not set */
    FD_VECTOR(fd_timeline_message) messages;
    FD_VECTOR(fd_timeline_ping) pings;
    bool has_boot;
    char boot_id[33];
    int64_t boottime_ns; /* of the machine, at time 0 of the trace */
    char host[64];       /* its name; "" */
    bool has_peer;       /* the world has two ranks */
    uint32_t only_peer;  /* the other one */

    /* while reading */
    uint32_t begun_count;
    fd_timeline_begun begun[FD_TIMELINE_SYNC_OPEN];
    bool receiving; /* inside c10d::recv_, which ends at `pending_end` */
    fd_timeline_message pending;
    int64_t pending_end;
} fd_timeline_sync;

/* Examine an event. */
fd_status fd_timeline_sync_event(fd_timeline_sync *sync,
                                 const fd_timeline_event *event);

/* Add a slice with nothing but a name and times. */
fd_status fd_timeline_sync_slice(fd_timeline_sync *sync, fd_span name,
                                 int64_t begin, int64_t end);

/* Examine a member beside the events. */
fd_status fd_timeline_sync_member(fd_timeline_sync *sync, fd_span key,
                                  fd_span value);

/* After the last event: number the parts without a number by time, and keep at most
 * `most` of each. */
fd_status fd_timeline_sync_settle(fd_timeline_sync *sync, uint32_t most);

void fd_timeline_sync_clear(fd_timeline_sync *sync);

#endif
