/* The flows of a rank by the slices at their ends. Python finds those of a
 * pipeline (read/pipeline_flows.py); of the flows of calls there is an index:
 *
 *     event   0   1   2   3         first  [ 0 0 2 2 2 ]   the flows of event e
 *     flows   1 -> 3, 1 -> 0        flows  [ 3 0 ]         start at first[e]
 *                                   ends   [ 2 0 0 1 ]     into e, plus 1 */
#ifndef FD_CALL_FLOWS_H
#define FD_CALL_FLOWS_H

#include "base/arena.h"
#include "trace/trace.h"

/* Category of the slice where a flow of a pipeline ends. */
#define FD_TRANSFER_CATEGORY "transfer"

typedef struct fd_flows {
    uint32_t *first; /* of the arena; NULL: the rank has no flows, or they are
                      * not drawn */
    uint32_t *ends;  /* number + 1 of the flow that ends at an event; 0: no
                      * flow */
} fd_flows;

/* One end of a flow at a slice. Id 0: no flow. */
typedef struct fd_arrow_end {
    uint64_t id;
    bool ends; /* false: the flow begins here */
} fd_arrow_end;

/* An end of a flow of a pipeline, at the slice of a job. */
typedef struct fd_transfer_end {
    uint64_t id;
    uint32_t job;  /* row of the rank's jobs */
    uint32_t ends; /* 0: the flow begins here */
} fd_transfer_end;

/* The flows of a pipeline in a rank. */
typedef struct fd_transfers {
    const fd_transfer_end *list; /* borrowed; by job. NULL: no flow of a
                                  * pipeline is drawn */
    uint32_t count;
} fd_transfers;

/* Return the end of a flow of a pipeline at an event, or id 0. */
fd_arrow_end fd_transfers_at(const fd_transfers *transfers,
                             const fd_trace_event *event);

/* Return the time in a receive at which its flow ends: viewers require that
 * flows go forward in time, and a receive often begins long before its send.
 * Therefore a flow ends at a slice of length 0 at the last nanosecond of the
 * receive.
 *
 *     rank 0         [ SA mb0 ]
 *                    └─────────┐
 *     rank 1   [ RA mb0        ▼] */
static inline uint64_t
fd_transfer_arrival(const fd_trace_event *event)
{
    return event->start + event->duration - (event->duration > 0);
}

/* Build the index. Flows are numbered from 0, sorted by the event where they
 * begin. */
fd_flows fd_flows_make(const fd_trace_rank *rank, fd_arena *arena);

/* Return the end of the range of flows that begin at an event; `*first` is the
 * start of the range. */
static inline uint32_t
fd_flows_from(const fd_flows *flows, uint32_t event, uint32_t *first)
{
    *first = flows->first != NULL ? flows->first[event] : 0;
    return flows->first != NULL ? flows->first[event + 1] : 0;
}

/* Return the number + 1 of the flow that ends at an event, or 0. */
static inline uint32_t
fd_flows_to(const fd_flows *flows, uint32_t event)
{
    return flows->ends != NULL ? flows->ends[event] : 0;
}

/* Return an id that no other rank uses, for a flow of calls by its number, the
 * launch of a GPU interval, or a call of CUDA. A double represents it exactly for
 * up to a million ranks. Python makes those of sends of a pipeline. */
static inline uint64_t
fd_flow_id(uint32_t rank, uint32_t number)
{
    return ((uint64_t)rank << 32) + number + 1;
}

static inline uint64_t
fd_launch_id(uint32_t rank, uint32_t number)
{
    return (uint64_t)rank << 32 | 1u << 31 | number;
}

static inline uint64_t
fd_correlation_id(uint32_t rank, uint32_t correlation)
{
    return (uint64_t)rank << 32 | 5u << 29 | (correlation & 0x1fffffff);
}

static inline bool
fd_is_transfer_id(uint64_t id)
{
    return (id >> 30 & 3) == 3;
}

#endif
