/* Tracks of one rank beside its calls, for a native trace: phases of steps,
 * and counters. In absolute times, on the sequence of the rank. */
#ifndef FD_PERFETTO_TRACKS_H
#define FD_PERFETTO_TRACKS_H

#include "analysis/clock_fit.h"
#include "io/trace.h"

typedef struct fd_perfetto_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    uint64_t base;      /* boot time of the rank's start */
    fd_clock_map drift; /* of times since then */
    uint32_t sequence;
    uint32_t parent; /* track of the process */
    uint32_t phases; /* track of the phases */
    uint32_t first;  /* of the counters, */
    uint32_t room;   /* and so many */
} fd_perfetto_tracks;

/* Append their packets. */
fd_status fd_perfetto_tracks_write(const fd_perfetto_tracks *tracks,
                                   fd_buffer *to);

#endif
