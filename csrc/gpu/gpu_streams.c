#include "gpu/gpu_streams.h"

#include "base/alloc.h"

enum { FIRST_ROOM = 256 };

fd_status
fd_gpu_stream_reserve(fd_gpu_stream *stream)
{
    uint32_t count = stream->tail - stream->head;
    if (count < stream->capacity) {
        return FD_OK;
    }
    uint32_t capacity =
        stream->capacity == 0 ? FIRST_ROOM : 2 * stream->capacity;
    fd_gpu_timestamp *ring = fd_malloc(capacity * sizeof *ring);
    if (ring == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        ring[i] = fd_gpu_stream_pop(stream);
    }
    fd_free(stream->ring);
    stream->ring = ring;
    stream->capacity = capacity;
    stream->head = 0;
    stream->tail = count;
    return FD_OK;
}

void
fd_gpu_stream_clear(fd_gpu_stream *stream)
{
    fd_free(stream->ring);
    *stream = (fd_gpu_stream){.ring = NULL};
}
