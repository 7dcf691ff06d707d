/* The arrows of a rank by the slices at their ends.
 *
 *     event   0   1   2   3         first  [ 0 0 2 2 2 ]   of event e: those
 *     flows   1 -> 3, 1 -> 0        flows  [ 3 0 ]         from first[e] on
 *                                   ends   [ 2 0 0 1 ]     into e, plus 1 */
#ifndef FD_CALL_FLOWS_H
#define FD_CALL_FLOWS_H

#include "trace/trace.h"

typedef struct fd_flows {
    uint32_t *first; /* owned; NULL: the rank has none, or none is drawn */
    uint32_t *ends;  /* owned; number of the flow that ends at an event,
                        plus 1; 0: none */
} fd_flows;

/* The end of a flow at a slice; id 0: no flow. */
typedef struct fd_arrow_end {
    uint64_t id;
    bool ends; /* or begins here */
} fd_arrow_end;

/* Flows are numbered from 0 by the event they come from. */
fd_status fd_flows_make(fd_flows *flows, const fd_trace_rank *rank);
void fd_flows_clear(fd_flows *flows);

/* The flows that begin at an event: from *first up to the result. */
static inline uint32_t
fd_flows_from(const fd_flows *flows, uint32_t event, uint32_t *first)
{
    *first = flows->first != NULL ? flows->first[event] : 0;
    return flows->first != NULL ? flows->first[event + 1] : 0;
}

/* The flow that ends at an event, plus 1; 0: none. */
static inline uint32_t
fd_flows_to(const fd_flows *flows, uint32_t event)
{
    return flows->ends != NULL ? flows->ends[event] : 0;
}

/* Ids of arrows that no other rank has: of the flow of this number, of the
 * launch of a GPU interval, and of what a job sends. Exact in a double for a
 * million ranks. */
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
fd_transfer_id(uint32_t rank, uint32_t job)
{
    return (uint64_t)rank << 32 | 3u << 30 | job;
}

static inline bool
fd_is_transfer_id(uint64_t id)
{
    return (id >> 30 & 3) == 3;
}

#endif
