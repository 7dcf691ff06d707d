/* Reader of the events of a trace in memory. */
#ifndef FD_TRACE_EVENTS_H
#define FD_TRACE_EVENTS_H

#include "events/event_batch.h"
#include "trace/export_options.h"

typedef struct fd_trace_events fd_trace_events;

/* Open a trace (borrowed). Its timeline may be loaded later: the first batch
 * has only the members before the events. `own_times`: times since the start of
 * the rank, by its own clock; otherwise those of the common clock. Return NULL
 * after a failed allocation. */
fd_trace_events *fd_trace_events_open(const fd_trace *trace,
                                      const fd_export_options *options,
                                      bool own_times);
void fd_trace_events_close(fd_trace_events *events); /* `events` may be NULL */

/* Add the next events, of one rank; an empty batch is the end. */
fd_status fd_trace_events_fill(fd_trace_events *events, fd_event_batch *batch);

/* Return the index of the rank of the last batch. */
uint32_t fd_trace_events_rank(const fd_trace_events *events);

#endif
