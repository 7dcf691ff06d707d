/* What a trace tells about the clocks of others: when its collectives began
 * and ended, when its messages were sent and received, its pings. Of a long
 * trace a part that is spread evenly. */
#ifndef FD_SYNC_EVENTS_H
#define FD_SYNC_EVENTS_H

#include "base/vector.h"
#include "clocks/clock_collectives.h"
#include "events/merged_ids.h"

enum {
    FD_TIMELINE_PARTS = 4096,         /* kept of a trace */
    FD_TIMELINE_MOST_PARTS = 1 << 18, /* looked at; later ones are not */
    FD_TIMELINE_MOST_PINGS = 4096,
    FD_TIMELINE_SYNC_OPEN = 16 /* begun and not ended at a time */
};

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
    uint32_t peer;      /* rank that answered */
    fd_clock_ping ping; /* by the clocks of the machines, since their start */
} fd_timeline_ping;

/* What a slice is, before it is known when it ends. */
typedef struct fd_timeline_deed {
    enum {
        FD_DEED_NONE,
        FD_DEED_PART,
        FD_DEED_MESSAGE,
        FD_DEED_RECEIVING
    } what;
    fd_clock_part part;
    fd_timeline_message message; /* its time is the begin */
} fd_timeline_deed;

/* One whose end is an event of its own. */
typedef struct fd_timeline_begun {
    uint64_t key;   /* of its thread, or of its id */
    uint32_t inner; /* slices begun inside and not ended */
    fd_timeline_deed deed;
} fd_timeline_begun;

typedef struct fd_timeline_sync {
    FD_VECTOR(fd_clock_part) parts; /* `member` is not set */
    FD_VECTOR(fd_timeline_message) messages;
    FD_VECTOR(fd_timeline_ping) pings;
    bool has_boot;
    char boot_id[33];
    int64_t boottime_ns; /* of the machine, at time 0 of the trace */
    char host[64];       /* its name; "" */

    /* while reading: what the next event may end */
    uint32_t begun_count;
    fd_timeline_begun begun[FD_TIMELINE_SYNC_OPEN];
    bool receiving; /* inside c10d::recv_, which ends at `pending_end` */
    fd_timeline_message pending;
    int64_t pending_end;
} fd_timeline_sync;

/* What an event says, if anything. */
fd_status fd_timeline_sync_event(fd_timeline_sync *sync,
                                 const fd_timeline_event *event);

/* A slice of which no more is known. */
fd_status fd_timeline_sync_slice(fd_timeline_sync *sync, fd_span name,
                                 int64_t begin, int64_t end);

/* The same of a member beside the events. */
fd_status fd_timeline_sync_member(fd_timeline_sync *sync, fd_span key,
                                  fd_span value);

/* When all is read: give what has no number its place in time, and keep at
 * most so many of each. */
fd_status fd_timeline_sync_settle(fd_timeline_sync *sync, uint32_t most);

void fd_timeline_sync_clear(fd_timeline_sync *sync);

#endif
