/* What a timeline shows of a rank beside its calls:
 *
 *     Time by phase   [ data | forward    | backward       | optimizer | other ]
 *     GPU 0 marked calls in flight   ▁▂▃▃▂▁    launched, and not yet passed
 *     main: events lost              ▁▁▁▁▁▇    known at its end
 *
 * Phases are sums over a step, laid end to end from its begin: how much, not
 * when. */
#ifndef FD_SIDE_TRACKS_H
#define FD_SIDE_TRACKS_H

#include "trace/trace.h"

typedef struct fd_phase_slice {
    uint64_t start; /* ns since the start of the recording */
    uint64_t end;
    const char *name;
} fd_phase_slice;

typedef FD_VECTOR(fd_phase_slice) fd_phase_slices;

/* Of the latest steps that were anything but "other". */
fd_status fd_phase_slices_make(fd_phase_slices *slices,
                               const fd_trace_rank *rank);

typedef struct fd_counter_value {
    uint64_t time;
    uint32_t of; /* thread, or device */
    uint64_t value;
} fd_counter_value;

typedef FD_VECTOR(fd_counter_value) fd_counter_values;

/* Marked calls that were launched and that the GPU had not passed: by device,
 * then by time, each time once. */
fd_status fd_counter_in_flight(fd_counter_values *values,
                               const fd_trace_rank *rank);

/* What threads have lost by the end of their last event; those that have. */
fd_status fd_counter_lost(fd_counter_values *values,
                          const fd_trace_rank *rank);

enum { FD_COUNTER_NAME = 96 };
void fd_counter_in_flight_name(uint32_t device, char name[FD_COUNTER_NAME]);
void fd_counter_lost_name(const fd_trace *trace, const fd_trace_rank *rank,
                          uint32_t thread, char name[FD_COUNTER_NAME]);

#endif
