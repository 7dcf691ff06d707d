/* The timestamps of one stream that the GPU has not been seen to pass, in the
 * order in which they were recorded, which is the order in which it passes
 * them.
 *
 *     ring   | timestamp | timestamp | timestamp |      |      |
 *              ^ head               ^ tail          both count without end
 *
 * The device serialises all calls: the order here must be the order in the
 * stream, so one lock covers recording a timestamp and queueing it. */
#ifndef FD_GPU_STREAMS_H
#define FD_GPU_STREAMS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_gpu_timestamp {
    void *event;
    uint64_t host;     /* tick at which it was recorded */
    uint32_t interval; /* whose begin or end it is */
    bool ends;
    bool first; /* after a time without timestamps */
} fd_gpu_timestamp;

typedef struct fd_gpu_stream {
    void *handle;
    fd_gpu_timestamp *ring; /* owned */
    uint32_t room;          /* a power of two */
    uint32_t head;
    uint32_t tail;
    uint32_t window; /* that the timestamp at the tail is of */
    bool reached;    /* `latest` is set */
    int64_t
        latest; /* when the GPU passed the timestamp before the head, on the
                          host's clock */
} fd_gpu_stream;

/* Room for one more timestamp. FD_ENOMEM leaves the queue as it is. */
fd_status fd_gpu_stream_reserve(fd_gpu_stream *stream);

void fd_gpu_stream_clear(fd_gpu_stream *stream);

static inline bool
fd_gpu_stream_is_empty(const fd_gpu_stream *stream)
{
    return stream->head == stream->tail;
}

/* There is room. */
static inline void
fd_gpu_stream_put(fd_gpu_stream *stream, fd_gpu_timestamp timestamp)
{
    stream->ring[stream->tail++ & (stream->room - 1)] = timestamp;
}

static inline const fd_gpu_timestamp *
fd_gpu_stream_head(const fd_gpu_stream *stream)
{
    return &stream->ring[stream->head & (stream->room - 1)];
}

static inline fd_gpu_timestamp
fd_gpu_stream_pop(fd_gpu_stream *stream)
{
    return stream->ring[stream->head++ & (stream->room - 1)];
}

#endif
