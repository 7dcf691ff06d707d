/* The queue of pending timestamps of one stream, in the order in which they
 * were recorded, which is the order in which the GPU reaches them.
 *
 *     ring   | timestamp | timestamp | timestamp |      |      |
 *              ^ head               ^ tail          both only increase
 *
 * The device serialises all calls: one lock covers recording a timestamp and
 * queueing it, so that both orders agree. */
#ifndef FD_GPU_STREAMS_H
#define FD_GPU_STREAMS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_gpu_timestamp {
    void *event;
    uint64_t host;     /* tick at which it was recorded */
    uint32_t interval; /* slot of the interval */
    bool ends;
} fd_gpu_timestamp;

typedef struct fd_gpu_stream {
    void *handle;
    fd_gpu_timestamp *ring; /* owned */
    uint32_t capacity;      /* capacity, a power of two */
    uint32_t head;
    uint32_t tail;
} fd_gpu_stream;

/* Reserve space for one more timestamp. FD_ENOMEM leaves the queue
 * unchanged. */
fd_status fd_gpu_stream_reserve(fd_gpu_stream *stream);

void fd_gpu_stream_clear(fd_gpu_stream *stream);

static inline bool
fd_gpu_stream_is_empty(const fd_gpu_stream *stream)
{
    return stream->head == stream->tail;
}

/* Append a timestamp. The caller has reserved space. */
static inline void
fd_gpu_stream_put(fd_gpu_stream *stream, fd_gpu_timestamp timestamp)
{
    stream->ring[stream->tail++ & (stream->capacity - 1)] = timestamp;
}

static inline const fd_gpu_timestamp *
fd_gpu_stream_head(const fd_gpu_stream *stream)
{
    return &stream->ring[stream->head & (stream->capacity - 1)];
}

static inline fd_gpu_timestamp
fd_gpu_stream_pop(fd_gpu_stream *stream)
{
    return stream->ring[stream->head++ & (stream->capacity - 1)];
}

#endif
