#include "trace/interned_texts.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <stdbool.h>
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
find_text(const fd_text_pool *pool, const char *text, size_t size,
          uint64_t hash)
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
    *id = find_text(pool, text, size, hash);
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

static bool
is_clean(const char *text, size_t size)
{
    size_t length = 1;
    for (size_t at = 0; at < size && length > 0; at += length) {
        length = text[at] == '\0' ? 0 : fd_utf8_length(text + at, size - at);
    }
    return length > 0;
}

static fd_status
add_repaired(fd_text_pool *pool, const char *text, size_t size, uint32_t *to)
{
    fd_buffer clean = {.bytes = NULL};
    for (size_t at = 0; at < size;) {
        size_t length =
            text[at] == '\0' ? 0 : fd_utf8_length(text + at, size - at);
        if (length == 0) {
            fd_buffer_text(&clean, "\xEF\xBF\xBD");
            length = 1;
        }
        else {
            fd_buffer_bytes(&clean, text + at, length);
        }
        at += length;
    }
    fd_status status = clean.status == FD_OK
                         ? fd_text_pool_add(pool, clean.bytes, clean.size, to)
                         : clean.status;
    fd_buffer_clear(&clean);
    return status;
}

fd_status
fd_text_pool_add_clean(fd_text_pool *pool, const char *text, size_t size,
                       uint32_t *id)
{
    return is_clean(text, size) ? fd_text_pool_add(pool, text, size, id)
                                : add_repaired(pool, text, size, id);
}

fd_status
fd_text_pool_take(fd_text_pool *pool, fd_buffer *from, uint32_t *id)
{
    fd_status status = from->status;
    fd_then(status, fd_text_pool_add(pool, from->bytes, from->size, id));
    fd_buffer_clear(from);
    return status;
}
