#include "recording/chunk_pool.h"

#include <string.h>

static fd_status
next_chunk(fd_pool *pool, size_t need)
{
    size_t bytes = pool->next_bytes;
    if (bytes < need + sizeof(fd_chunk)) {
        bytes = need + sizeof(fd_chunk);
    }
    fd_status status =
        fd_file_chunk(pool->file, pool->kind, pool->record_bytes, bytes,
                      pool->owner, &pool->chunk);
    if (status == FD_OK && pool->next_bytes < FD_POOL_LARGEST) {
        pool->next_bytes *= 2;
    }
    return status;
}

void *
fd_pool_reserve(fd_pool *pool, uint32_t count)
{
    const fd_chunk *chunk = pool->chunk;
    if (chunk == NULL || chunk->capacity - chunk->used < count) {
        if (next_chunk(pool, (size_t)count * pool->record_bytes) != FD_OK) {
            return NULL;
        }
    }
    return (char *)fd_chunk_records(pool->chunk)
         + (size_t)pool->chunk->used * pool->record_bytes;
}

void
fd_pool_publish(fd_pool *pool, uint32_t count)
{
    pool->count += count;
    atomic_store_explicit(&pool->chunk->used, pool->chunk->used + count,
                          memory_order_release);
}

uint32_t
fd_pool_add(fd_pool *pool, fd_index *index, uint64_t hash, const void *record)
{
    void *to = fd_pool_reserve(pool, 1);
    uint32_t id = to != NULL ? fd_file_id(pool->file, to) : 0;
    if (id == 0 || fd_index_add(index, hash, id) != FD_OK) {
        return 0;
    }
    memcpy(to, record, pool->record_bytes);
    fd_pool_publish(pool, 1);
    return id;
}
