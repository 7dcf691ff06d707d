#include "io/texts.h"

#include "base/hash.h"

#include <string.h>

void
fd_text_pool_clear(fd_text_pool *pool)
{
    fd_buffer_clear(&pool->bytes);
    fd_vector_clear(&pool->texts);
    fd_index_clear(&pool->index);
    *pool = (fd_text_pool){.bytes = {.bytes = NULL}};
}

static uint32_t
find(const fd_text_pool *pool, const char *text, size_t size, uint64_t hash)
{
    fd_probe probe = fd_index_probe(&pool->index, hash);
    uint32_t id;
    while ((id = fd_index_next(&pool->index, &probe)) != 0) {
        if (pool->texts.list[id].size == size
            && memcmp(fd_text_pool_get(pool, id), text, size) == 0) {
            return id;
        }
    }
    return 0;
}

fd_status
fd_text_pool_add(fd_text_pool *pool, const char *text, size_t size,
                 uint32_t *id)
{
    *id = 0;
    if (size == 0) {
        return FD_OK;
    }
    uint64_t hash = fd_hash_bytes(text, size);
    *id = find(pool, text, size, hash);
    if (*id != 0) {
        return FD_OK;
    }
    if (pool->texts.count == 0
        && fd_vector_push(&pool->texts, (fd_text){0, 0}) != FD_OK) {
        return FD_ENOMEM;
    }
    fd_text entry = {pool->bytes.size, size};
    fd_buffer_bytes(&pool->bytes, text, size);
    fd_buffer_bytes(&pool->bytes, "", 1);
    if (pool->bytes.status != FD_OK
        || fd_vector_push(&pool->texts, entry) != FD_OK) {
        return FD_ENOMEM;
    }
    *id = pool->texts.count - 1;
    return fd_index_add(&pool->index, hash, *id);
}
