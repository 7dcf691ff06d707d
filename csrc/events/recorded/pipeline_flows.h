/* The flows of a pipeline: from each send to the end of the receive that
 * matches it, on any rank. Viewers require that flows go forward in time, and
 * a receive often begins long before its send. Therefore a flow ends at a
 * slice of length 0 at the last nanosecond of the receive.
 *
 *     rank 0         [ SA mb0 ]
 *                    └─────────┐
 *     rank 1   [ RA mb0        ▼]
 *
 * The jobs of all ranks must be added before the first rank is written. Only
 * the jobs of a rank are kept in memory, not its recording. */
#ifndef FD_PIPELINE_FLOWS_H
#define FD_PIPELINE_FLOWS_H

#include "events/recorded/call_flows.h"
#include "pipeline/recorded/pipeline_stats.h"
#include "trace/export_options.h"

/* Category of the slice where a flow ends. */
#define FD_TRANSFER_CATEGORY "transfer"

typedef struct fd_transfers {
    /* owned unless lent; by job, one rank after the other; NULL: no job has a
     * transfer, or flows are not drawn */
    fd_arrow_end *ends;
    uint32_t *first; /* owned unless lent; by rank, its first index in
                         * `ends`; then the end */
    bool lent;
} fd_transfers;

/* The part of a rank that is in the timeline. */
typedef struct fd_transfers_window {
    fd_clock_map clock; /* from times of the rank to times of the timeline */
    int64_t begin; /* by the clock of the rank: events that begin before */
    int64_t end;   /* `begin`, or at or after `end`, are omitted */
} fd_transfers_window;

/* The slice of a job, if the timeline shows it. */
typedef struct fd_transfers_slice {
    bool shown;
    int64_t start; /* on the clock of the timeline */
    bool arrives;  /* the end of the job is in the timeline */
    int64_t arrival;
} fd_transfers_slice;

typedef struct fd_transfers_search {
    fd_pipe pipeline;
    /* numbers of the ranks, in the order they are added */
    FD_VECTOR(uint32_t) ranks;
    FD_VECTOR(uint32_t) first; /* index of the first slice of each rank */
    /* by rank of the pipeline, the index in `ranks`; ranks without jobs are
     * skipped */
    FD_VECTOR(uint32_t) added;
    FD_VECTOR(fd_transfers_slice) slices; /* by job */
} fd_transfers_search;

/* Return whether a rank has jobs that send or receive. */
bool fd_transfers_any(const fd_trace *trace, const fd_trace_rank *rank);

/* Add the jobs of the next rank. A job has a slice if its event was read with
 * the rank. */
fd_status fd_transfers_add(fd_transfers_search *search, const fd_trace *trace,
                           const fd_trace_rank *rank,
                           const fd_transfers_window *window);

/* Match sends and receives as pipeline reports do, after all ranks were added.
 * Keep transfers whose ends both have slices, the send before the receive. */
fd_status fd_transfers_find(fd_transfers *transfers,
                            fd_transfers_search *search);
void fd_transfers_search_clear(fd_transfers_search *search);

/* Find the transfers of the written ranks of a trace, or borrow those in the
 * options. */
fd_status fd_transfers_make(fd_transfers *transfers, const fd_trace *trace,
                            const fd_export_options *options);
void fd_transfers_clear(fd_transfers *transfers);

/* Return the end of a transfer at an event of a rank, or id 0. A recording
 * that is still being written may have more jobs than when the transfers were
 * found. */
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

/* Return the time in a receive at which its flow ends. */
static inline uint64_t
fd_transfer_arrival(const fd_trace_event *event)
{
    return event->start + event->duration - (event->duration > 0);
}

#endif
