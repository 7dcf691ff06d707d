/* Tracks of one rank other than its calls, for a native trace: steps and their
 * phases, asynchronous work, counters. Each has its own sequence. */
#ifndef FD_PERFETTO_TRACKS_H
#define FD_PERFETTO_TRACKS_H

#include "events/recorded/native_packets.h"
#include "events/recorded/slice_names.h"

typedef struct fd_perfetto_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    const fd_slice_names *names;
    /* borrowed; times are ns since the start of the rank */
    const fd_perfetto_clock *clock;
    uint32_t sequences; /* sequence id = this + track number */
    uint32_t parent;    /* track of the process */
    uint32_t steps;
    uint32_t phases;
    uint32_t lanes;    /* first track of asynchronous work */
    uint32_t first;    /* first track of the counters */
    uint32_t capacity; /* maximum number of counters */
} fd_perfetto_tracks;

/* Append the packets of all these tracks. */
fd_status fd_perfetto_tracks_write(const fd_perfetto_tracks *tracks,
                                   fd_buffer *to);

#endif
