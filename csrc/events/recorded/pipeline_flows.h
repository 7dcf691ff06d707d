/* The arrows of a pipeline: from each send to the end of the receive that took
 * it, in whichever rank. Readers want arrows to go on in time, and a receive
 * may have waited long before its send began: the arrow ends at a slice of no
 * length, the last nanosecond of the receive.
 *
 *     rank 0         [ SA mb0 ]
 *                    └─────────┐
 *     rank 1   [ RA mb0        ▼]
 *
 * All ranks must be known before the first is written. They need not be in
 * memory together: of each its jobs are kept. */
#ifndef FD_PIPELINE_FLOWS_H
#define FD_PIPELINE_FLOWS_H

#include "events/recorded/call_flows.h"
#include "pipeline/report/pipeline_stats.h"
#include "trace/export_options.h"

/* Of the slice where an arrow ends. */
#define FD_TRANSFER_CATEGORY "transfer"

typedef struct fd_transfers {
    fd_arrow_end *ends; /* owned unless lent; by job, a rank after the other;
                           NULL: no job is of a transfer, or no arrow is
                           drawn */
    uint32_t *first;    /* the same; of them those of a rank, and the end */
    bool lent;
} fd_transfers;

/* The part of a rank that is in the timeline. */
typedef struct fd_transfers_window {
    fd_clock_map clock; /* from the rank's times to those of all */
    int64_t begin; /* by the clock of the rank: events that begin before */
    int64_t end;   /* `begin`, or from `end` on, are not in it */
} fd_transfers_window;

/* The slice of a job, if it has one. */
typedef struct fd_transfers_slice {
    bool shown;
    int64_t start; /* on the clock of all */
    bool arrives;  /* where the job ends is shown */
    int64_t arrival;
} fd_transfers_slice;

typedef struct fd_transfers_search {
    fd_pipe pipeline;
    FD_VECTOR(uint32_t) ranks; /* their numbers, as they are added */
    FD_VECTOR(uint32_t) first; /* of `slices` those of a rank */
    FD_VECTOR(uint32_t)
    added; /* by rank of the pipeline, in `ranks`: ranks
                                  without jobs are not in it */
    FD_VECTOR(fd_transfers_slice) slices; /* by job */
} fd_transfers_search;

/* Whether a rank sends or receives. */
bool fd_transfers_any(const fd_trace *trace, const fd_trace_rank *rank);

/* The jobs of the next rank. Its slices are those of the events that are read
 * with it. */
fd_status fd_transfers_add(fd_transfers_search *search, const fd_trace *trace,
                           const fd_trace_rank *rank,
                           const fd_transfers_window *window);

/* All are added: the transfers that pipeline reports match and of which both
 * ends have slices, the send before the receive. */
fd_status fd_transfers_find(fd_transfers *transfers,
                            fd_transfers_search *search);
void fd_transfers_search_clear(fd_transfers_search *search);

/* Those of the ranks of a trace that are written, or what is lent by the
 * options. */
fd_status fd_transfers_make(fd_transfers *transfers, const fd_trace *trace,
                            const fd_export_options *options);
void fd_transfers_clear(fd_transfers *transfers);

/* What an event of a rank (its index) has to do with a transfer. A recording
 * that goes on may have more jobs by now than when they were found. */
static inline fd_arrow_end
fd_transfers_at(const fd_transfers *transfers, uint32_t rank,
                const fd_trace_event *event)
{
    if (transfers->ends == NULL || event->kind != FD_EVENT_JOB) {
        return (fd_arrow_end){0};
    }
    const uint32_t *first = &transfers->first[rank];
    return event->context < first[1] - first[0]
             ? transfers->ends[first[0] + event->context]
             : (fd_arrow_end){0};
}

/* Where in a receive its arrow ends. */
static inline uint64_t
fd_transfer_arrival(const fd_trace_event *event)
{
    return event->start + event->duration - (event->duration > 0);
}

#endif
