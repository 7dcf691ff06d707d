/* A growing series of chunks of one kind: records are appended, and never
 * moved or removed. Each new chunk is twice as large as the last, up to a
 * limit, so that small recordings stay small and large ones have few chunks.
 * The owner serialises all calls. */
#ifndef FD_CHUNK_POOL_H
#define FD_CHUNK_POOL_H

#include "base/index.h"
#include "recording/recording_file.h"

typedef struct fd_pool {
    fd_file *file;   /* borrowed */
    fd_chunk *chunk; /* the chunk being filled; NULL before the first */
    uint32_t kind;
    uint32_t record_bytes;
    uint32_t owner;
    uint32_t next_bytes; /* size of the next chunk */
    uint32_t count;      /* number of published records */
} fd_pool;

enum { FD_POOL_LARGEST = 256 * 1024 };

static inline fd_pool
fd_pool_of(fd_file *file, uint32_t kind, uint32_t record_bytes,
           uint32_t first_bytes)
{
    return (fd_pool){.file = file,
                     .kind = kind,
                     .record_bytes = record_bytes,
                     .next_bytes = first_bytes};
}

/* Reserve `count` contiguous records. Return NULL if there is no space. They
 * are not part of the recording until fd_pool_publish. */
void *fd_pool_reserve(fd_pool *pool, uint32_t count);

/* Make the reserved records visible to readers. Call it after setting their
 * fields. */
void fd_pool_publish(fd_pool *pool, uint32_t count);

/* Append a copy of a record that can be found by its hash. Return its id, or 0
 * if there is no space. */
uint32_t fd_pool_add(fd_pool *pool, fd_index *index, uint64_t hash,
                     const void *record);

#endif
