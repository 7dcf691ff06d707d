/* The GPU intervals of one rank for a timeline: a track per stream, and a flow
 * from the call that launched an interval to the interval.
 *
 *     main            [ aten::mm ]──┐
 *     GPU 0 stream 0                └─►[ aten::mm ] */
#ifndef FD_GPU_TRACKS_H
#define FD_GPU_TRACKS_H

#include "events/event_batch.h"
#include "trace/trace.h"

typedef struct fd_stream_track {
    uint16_t device;
    uint16_t stream;
    uint32_t first; /* index of its first event */
    uint32_t count;
} fd_stream_track;

typedef struct fd_streams {
    FD_VECTOR(fd_stream_track) tracks;
    fd_trace_event *events; /* owned; sorted by track, then by end; as if they
                             * were calls or jobs */
    uint32_t *flows; /* owned; flow number of each event, from 1; 0: no flow,
                      * because its call is not in the timeline */
    uint32_t *of_calls; /* owned; the same flow numbers, indexed by events of
                         * the rank */
    uint32_t flow_count;
} fd_streams;

/* Build the tracks. A rank without intervals has none. */
fd_status fd_streams_make(fd_streams *streams, const fd_trace_rank *rank);
void fd_streams_clear(fd_streams *streams);

/* "GPU 0 stream 7" */
enum { FD_STREAM_NAME = 48 };
void fd_stream_name(const fd_stream_track *track, char name[FD_STREAM_NAME]);

/* Return the arguments of the slices of a track, as PyTorch writes them:
 * {"device":0,"stream":7}. */
fd_span fd_stream_arguments(const fd_streams *streams, uint32_t track,
                            fd_event_batch *batch);

static inline uint32_t
fd_streams_flow_of_call(const fd_streams *streams, uint32_t event)
{
    return streams->of_calls == NULL ? 0 : streams->of_calls[event];
}

#endif
