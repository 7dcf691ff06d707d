#include "gpu/cupti_buffers.h"

#include "base/alloc.h"

enum { EMPTY, FREE, TAKEN, FULL };
enum { LEAST_FREE = 8 };

void
fd_cupti_buffers_prepare(fd_cupti_buffers *buffers)
{
    int ready = 0;
    for (int i = 0; i < FD_CUPTI_BUFFERS && ready < LEAST_FREE; i++) {
        fd_cupti_buffer *buffer = &buffers->list[i];
        if (buffer->state == EMPTY) {
            buffer->bytes = fd_malloc(FD_CUPTI_BUFFER_BYTES);
            buffer->state = buffer->bytes != NULL ? FREE : EMPTY;
        }
        ready += buffer->state == FREE;
    }
}

uint8_t *
fd_cupti_buffers_take(fd_cupti_buffers *buffers, size_t *size)
{
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        fd_cupti_buffer *buffer = &buffers->list[i];
        int state = FREE;
        if (buffer->state == FREE
            && atomic_compare_exchange_strong(&buffer->state, &state, TAKEN)) {
            *size = FD_CUPTI_BUFFER_BYTES;
            return buffer->bytes;
        }
    }
    *size = FD_CUPTI_DISCARD_BYTES;
    return buffers->discard;
}

void
fd_cupti_buffers_fill(fd_cupti_buffers *buffers, const uint8_t *bytes,
                      size_t valid)
{
    if (bytes == buffers->discard) {
        buffers->discarded += valid;
        return;
    }
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        fd_cupti_buffer *buffer = &buffers->list[i];
        if (buffer->state == TAKEN && buffer->bytes == bytes) {
            buffer->valid =
                valid < FD_CUPTI_BUFFER_BYTES ? valid : FD_CUPTI_BUFFER_BYTES;
            buffer->state = FULL;
        }
    }
}

fd_cupti_buffer *
fd_cupti_buffers_full(fd_cupti_buffers *buffers)
{
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        if (buffers->list[i].state == FULL) {
            return &buffers->list[i];
        }
    }
    return NULL;
}

void
fd_cupti_buffers_free(fd_cupti_buffer *buffer)
{
    buffer->state = FREE;
}

void
fd_cupti_buffers_shrink(fd_cupti_buffers *buffers)
{
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        fd_cupti_buffer *buffer = &buffers->list[i];
        int state = FREE;
        if (atomic_compare_exchange_strong(&buffer->state, &state, EMPTY)) {
            fd_free(buffer->bytes);
            buffer->bytes = NULL;
        }
    }
}
