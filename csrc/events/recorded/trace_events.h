/* The events of a trace in memory: the reader of recordings. */
#ifndef FD_TRACE_EVENTS_H
#define FD_TRACE_EVENTS_H

#include "events/event_batch.h"
#include "trace/export_options.h"

typedef struct fd_trace_events fd_trace_events;

/* Borrows the trace, which may have no timeline yet: the first batch has the
 * members of the head alone. NULL with `*status` without memory. */
fd_trace_events *fd_trace_events_open(const fd_trace *trace,
                                      const fd_export_options *options,
                                      fd_status *status);
void fd_trace_events_close(fd_trace_events *events); /* or NULL */

/* Add the next events; none: the end. */
fd_status fd_trace_events_fill(fd_trace_events *events, fd_event_batch *batch);

#endif
