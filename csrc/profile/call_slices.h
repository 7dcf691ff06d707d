/* The calls of one thread as start and end events in order of time, each
 * within its caller.
 *
 *     recorded   ends in order:      c b d a
 *     walked     a( b( c( ) ) d( ) )
 *
 * A range outlives the __enter__ it was opened in and ends before its
 * __exit__: where two calls overlap and neither holds the other, the later one
 * begins when the earlier one has ended. Thread-compatible, no Python. */
#ifndef FD_CALL_SLICES_H
#define FD_CALL_SLICES_H

#include "trace/trace.h"

typedef struct fd_slices {
    const fd_trace_event *events; /* borrowed */
    uint64_t *start;              /* owned, as the three below; ns */
    uint32_t *parent;
    uint32_t *child; /* the first */
    uint32_t *next;  /* sibling */
    uint32_t root;   /* the first outermost call */
    uint32_t at;     /* of the walk */
    uint64_t last;   /* its time so far */
    bool down;       /* `at` is about to begin */
} fd_slices;

/* No event. */
#define FD_NO_SLICE UINT32_MAX

typedef struct fd_slice_edge {
    uint32_t event;
    bool begins;   /* or ends */
    uint64_t time; /* ns, not before the previous edge */
} fd_slice_edge;

/* Of `count` events in the order of their ends; events of other kinds are
 * skipped. */
fd_status fd_slices_make(fd_slices *slices, const fd_trace_event *events,
                         uint32_t count);
void fd_slices_clear(fd_slices *slices);

/* The next edge; false after the last. */
bool fd_slices_next(fd_slices *slices, fd_slice_edge *edge);

/* The end of the events of one thread that begin at `from`. */
static inline uint32_t
fd_events_of_thread(const fd_trace_event *events, uint32_t count,
                    uint32_t from)
{
    uint32_t end = from;
    while (end < count && events[end].thread == events[from].thread) {
        end++;
    }
    return end;
}

static inline bool
fd_event_is_call(const fd_trace_event *event)
{
    return event->kind == FD_EVENT_CALL || event->kind == FD_EVENT_OPEN
        || event->kind == FD_EVENT_JOB;
}

#endif
