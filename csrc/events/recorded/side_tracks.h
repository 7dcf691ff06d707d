/* Tracks of a rank other than its calls:
 *
 *     Time by phase   [ data | forward    | backward       | optimizer | other ]
 *     GPU 0 marked calls in flight   ▁▂▃▃▂▁    launched, and not yet passed
 *     main: events lost              ▁▁▁▁▁▇    known at its end
 *     Communicated bytes per step    ▁▇▇▃      from the start of each step
 *     Allocated bytes at ends of steps ▁▂▃▄
 *
 * Phases are sums over a step, drawn one after the other from its start: they
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

typedef enum fd_counter {
    /* marked calls that were launched and that the GPU has not passed yet,
     * sorted by device and time, one value per time */
    FD_COUNTER_IN_FLIGHT,
    /* events that each thread had lost by its last event; threads without
     * losses are skipped */
    FD_COUNTER_LOST,
    /* measured figures of the latest steps. Steps in which they are not
     * measured have no value; a counter keeps its previous value then. */
    FD_COUNTER_COMMUNICATED,
    FD_COUNTER_LIVE,
    FD_COUNTER_KINDS
} fd_counter;

/* Make the values of a counter. */
fd_status fd_counter_values_make(fd_counter_values *values, fd_counter counter,
                                 const fd_trace_rank *rank);

/* Write the name of a counter of a thread or device. */
enum { FD_COUNTER_NAME = 96 };
void fd_counter_name(fd_counter counter, const fd_trace *trace,
                     const fd_trace_rank *rank, uint32_t of,
                     char name[FD_COUNTER_NAME]);

#endif
