/* The GPU work of one rank for a timeline: a track per stream, and a flow from
 * what launched it: from the call of an interval, or from the call of CUDA that
 * launched a kernel, which is a slice, too.
 *
 *     main            [ aten::mm [cuLaunchKernel]──┐ ]
 *     GPU 0 stream 7                               └─►[ gemm ] */
#ifndef FD_GPU_TRACKS_H
#define FD_GPU_TRACKS_H

#include "base/arena.h"
#include "events/event_batch.h"
#include "trace/trace.h"

typedef struct fd_stream_track {
    uint16_t device;
    uint32_t stream;
    uint32_t first; /* index of its first event */
    uint32_t count;
} fd_stream_track;

/* Lists are of the arena. */
typedef struct fd_streams {
    FD_VECTOR(fd_stream_track) tracks;
    /* One kernel of each call of CUDA; by thread, then by time. */
    FD_VECTOR(const fd_trace_gpu_event *) launches;
    const fd_trace_gpu_event **works; /* in the order of `events` */
    fd_trace_event *events; /* sorted by track, then by end; as if they were
                             * calls or jobs */
    uint32_t *flows;    /* flow number of each interval, from 1; 0: no flow,
                             * because its call is not in the timeline */
    uint32_t *of_calls; /* the same flow numbers, indexed by events of the
                             * rank */
    uint32_t flow_count;
} fd_streams;

/* Build the tracks. A rank without intervals has none. */
void fd_streams_make(fd_streams *streams, const fd_trace_rank *rank,
                     fd_arena *arena);

/* Return the arguments of a slice, as PyTorch writes them:
 * {"device":0,"stream":7,"correlation":1033,"bytes":512,...}. */
fd_span fd_stream_arguments(const fd_trace_gpu_event *work,
                            fd_event_batch *batch);

/* Set the name, the category and the arguments of the slice of the call of
 * CUDA that launched a kernel. */
void fd_launch_slice(const fd_trace_gpu_event *work, fd_event_batch *batch,
                     fd_timeline_event *made);

static inline uint32_t
fd_streams_flow_of_call(const fd_streams *streams, uint32_t event)
{
    return streams->of_calls == NULL ? 0 : streams->of_calls[event];
}

#endif
