/* The arrows of a pipeline: from each send to the end of the receive that took
 * it, in whichever rank. Readers want arrows to go on in time, and a receive
 * may have waited long before its send began: the arrow ends at a slice of no
 * length, the last nanosecond of the receive.
 *
 *     rank 0         [ SA mb0 ]
 *                    └─────────┐
 *     rank 1   [ RA mb0        ▼]
 */
#ifndef FD_TRANSFERS_H
#define FD_TRANSFERS_H

#include "export/exporters.h"
#include "export/flows.h"

/* Of the slice where an arrow ends. */
#define FD_TRANSFER_CATEGORY "transfer"

typedef struct fd_transfers {
    fd_arrow_end *ends; /* owned; by job, a rank after the other; NULL: no job
                           is of a transfer, or no arrow is wanted */
    uint32_t *first;    /* owned; of them those of a rank */
} fd_transfers;

/* Of the ranks that are written, the transfers that pipeline reports match and
 * of which both ends are in the timeline, the send before the receive. */
fd_status fd_transfers_make(fd_transfers *transfers, const fd_trace *trace,
                            const fd_export_options *options);
void fd_transfers_clear(fd_transfers *transfers);

/* What an event of a rank (its index) has to do with a transfer. */
static inline fd_arrow_end
fd_transfers_at(const fd_transfers *transfers, uint32_t rank,
                const fd_trace_event *event)
{
    return transfers->ends == NULL || event->kind != FD_EVENT_JOB
               ? (fd_arrow_end){0}
               : transfers->ends[transfers->first[rank] + event->context];
}

/* Where in a receive its arrow ends. */
static inline uint64_t
fd_transfer_arrival(const fd_trace_event *event)
{
    return event->start + event->duration - (event->duration > 0);
}

#endif
