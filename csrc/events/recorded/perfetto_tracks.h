/* Tracks of one rank beside its calls, for a native trace: steps and their
 * phases, asynchronous work, counters. Each has its own sequence. */
#ifndef FD_PERFETTO_TRACKS_H
#define FD_PERFETTO_TRACKS_H

#include "events/recorded/native_packets.h"
#include "events/recorded/slice_names.h"

typedef struct fd_perfetto_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    const fd_slice_names *names;
    const fd_perfetto_clock *clock; /* borrowed; from the rank's start on */
    uint32_t sequences; /* and the number of a track: its sequence */
    uint32_t parent;    /* track of the process */
    uint32_t steps;
    uint32_t phases;
    uint32_t lanes; /* the first of asynchronous work */
    uint32_t first; /* of the counters, */
    uint32_t room;  /* and so many */
} fd_perfetto_tracks;

/* Append their packets. */
fd_status fd_perfetto_tracks_write(const fd_perfetto_tracks *tracks,
                                   fd_buffer *to);

#endif
