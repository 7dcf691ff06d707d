/* Data for the alignment of the clocks of recordings. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/alignment/sync_events.h"
#include "trace/trace.h"

/* Add the collectives of a rank of a trace that was read with its timeline.
 * Clear `sync` also after a failure. */
fd_status fd_timeline_sync_rank(fd_timeline_sync *sync, const fd_trace *trace,
                                const fd_trace_rank *rank);

#endif
