/* The calls of one thread as start and end events in time order, each within
 * its caller.
 *
 *     recorded   ends in order:      c b d a
 *     walked     a( b( c( ) ) d( ) )
 *
 * A range can outlive the __enter__ in which it was opened, and end before its
 * __exit__: if two calls overlap and neither contains the other, the later one
 * is moved to begin when the earlier one has ended. Thread-compatible, no
 * Python. */
#ifndef FD_CALL_SLICES_H
#define FD_CALL_SLICES_H

#include "trace/trace.h"

typedef struct fd_slice_links {
    uint64_t start; /* ns */
    uint32_t parent;
    uint32_t child; /* the first */
    uint32_t next;  /* sibling */
} fd_slice_links;

typedef struct fd_slices {
    const fd_trace_event *events; /* borrowed */
    fd_slice_links *links;        /* owned; by event */
    uint32_t at;                  /* current position of the walk */
    uint64_t last;                /* time of the last edge */
    bool down;                    /* the call at `at` begins next */
} fd_slices;

/* An index that means "no event". */
#define FD_NO_SLICE UINT32_MAX

typedef struct fd_slice_edge {
    uint32_t event;
    bool begins;   /* false: it ends */
    uint64_t time; /* ns, not before the previous edge */
} fd_slice_edge;

/* Make the slices of `count` events, which are sorted by their ends; events of
 * other kinds are skipped. */
fd_status fd_slices_make(fd_slices *slices, const fd_trace_event *events,
                         uint32_t count);
void fd_slices_clear(fd_slices *slices);

/* Return the next edge; false after the last. */
bool fd_slices_next(fd_slices *slices, fd_slice_edge *edge);

/* Return the end of the range of events of one thread that begins at
 * `from`. */
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
