/* Memory for the records of CUPTI. Its threads, and threads of the program in
 * a call of CUDA, take a buffer and return it filled, without a lock; one
 * thread reads.
 *
 *     free ── take ──► with CUPTI ── fill ──► full ── read ──► free
 *
 * If no buffer is free they get one that is never read: CUPTI may crash
 * without a buffer. The records in it are counted. */
#ifndef FD_CUPTI_BUFFERS_H
#define FD_CUPTI_BUFFERS_H

#include "base/status.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { FD_CUPTI_BUFFERS = 64, FD_CUPTI_DISCARD_BYTES = 32 * 1024 };
#define FD_CUPTI_BUFFER_BYTES ((size_t)256 * 1024)

typedef struct fd_cupti_buffer {
    uint8_t *bytes; /* owned; NULL: no memory yet */
    size_t valid;   /* bytes with records, if full */
    _Atomic int state;
} fd_cupti_buffer;

typedef struct fd_cupti_buffers {
    fd_cupti_buffer list[FD_CUPTI_BUFFERS];
    _Atomic uint64_t discarded; /* bytes of records that are not read */
    _Alignas(8) uint8_t discard[FD_CUPTI_DISCARD_BYTES];
} fd_cupti_buffers;

/* Allocate memory until some buffers are free. The owner serialises these
 * calls. Without memory there are fewer. */
void fd_cupti_buffers_prepare(fd_cupti_buffers *buffers);

/* Return a free buffer, or the one that is not read. */
uint8_t *fd_cupti_buffers_take(fd_cupti_buffers *buffers, size_t *size);

/* Return a buffer of which `valid` bytes are filled. Others' are ignored. */
void fd_cupti_buffers_fill(fd_cupti_buffers *buffers, const uint8_t *bytes,
                           size_t valid);

/* Return a full buffer, or NULL. It is free after the second function. */
fd_cupti_buffer *fd_cupti_buffers_full(fd_cupti_buffers *buffers);
void fd_cupti_buffers_free(fd_cupti_buffer *buffer);

/* Release the memory of free buffers. */
void fd_cupti_buffers_shrink(fd_cupti_buffers *buffers);

#endif
