/* Tracks of a rank other than its calls:
 *
 *     Time by phase   [ data | forward    | backward       | optimizer | other ]
 *     GPU 0 marked calls in flight   ▁▂▃▃▂▁    launched, and not yet passed
 *     main: events lost              ▁▁▁▁▁▇    known at its end
 *
 * Phases are sums over a step, drawn one after the other from its begin: they
 * show durations, not positions in time. */
#ifndef FD_SIDE_TRACKS_H
#define FD_SIDE_TRACKS_H

#include "trace/trace.h"

typedef struct fd_phase_slice {
    uint64_t start; /* ns since the start of the recording */
    uint64_t end;
    const char *name;
} fd_phase_slice;

typedef FD_VECTOR(fd_phase_slice) fd_phase_slices;

/* Make the phases of the latest steps that have any phase except "other". */
fd_status fd_phase_slices_make(fd_phase_slices *slices,
                               const fd_trace_rank *rank);

typedef struct fd_counter_value {
    uint64_t time;
    uint32_t of; /* number of the thread or device */
    uint64_t value;
} fd_counter_value;

typedef FD_VECTOR(fd_counter_value) fd_counter_values;

/* Make the number of marked calls that were launched and that the GPU has not
 * passed yet, sorted by device and time, one value per time. */
fd_status fd_counter_in_flight(fd_counter_values *values,
                               const fd_trace_rank *rank);

/* Make the number of events that each thread had lost by its last event;
 * threads without losses are skipped. */
fd_status fd_counter_lost(fd_counter_values *values,
                          const fd_trace_rank *rank);

enum { FD_COUNTER_NAME = 96 };
void fd_counter_in_flight_name(uint32_t device, char name[FD_COUNTER_NAME]);
void fd_counter_lost_name(const fd_trace *trace, const fd_trace_rank *rank,
                          uint32_t thread, char name[FD_COUNTER_NAME]);

#endif
