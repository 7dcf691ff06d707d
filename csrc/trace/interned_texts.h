/* Interned texts of a trace in memory. Id 0 is the empty text. */
#ifndef FD_INTERNED_TEXTS_H
#define FD_INTERNED_TEXTS_H

#include "base/buffer.h"
#include "base/index.h"
#include "base/vector.h"
#include "json/json_scan.h"

typedef struct fd_text {
    size_t at; /* offset in fd_text_pool.bytes, NUL-terminated */
    size_t size;
} fd_text;

typedef struct fd_text_pool {
    fd_buffer bytes;
    FD_VECTOR(fd_text) texts; /* entry 0 is "" */
    fd_index index;
} fd_text_pool;

/* Free the texts. Zero-initialised memory is an empty pool. */
void fd_text_pool_clear(fd_text_pool *pool);

/* Find or add a text and set its id. FD_ENOMEM is the only failure. */
fd_status fd_text_pool_add(fd_text_pool *pool, const char *text, size_t size,
                           uint32_t *id);

/* Find or add a text of untrusted bytes: invalid UTF-8 and NULs become U+FFFD,
 * so that a trace and its dump have the same texts. */
fd_status fd_text_pool_add_clean(fd_text_pool *pool, const char *text,
                                 size_t size, uint32_t *id);

/* Find or add the content of a buffer, which is cleared. */
fd_status fd_text_pool_take(fd_text_pool *pool, fd_buffer *from, uint32_t *id);

/* Return the text of an id; "" for 0 and for invalid ids. Valid until the next
 * text is added. */
static inline const char *
fd_text_pool_get(const fd_text_pool *pool, uint32_t id)
{
    return id == 0 || id >= pool->texts.count
             ? ""
             : pool->bytes.bytes + pool->texts.list[id].at;
}

static inline size_t
fd_text_pool_size(const fd_text_pool *pool, uint32_t id)
{
    return id == 0 || id >= pool->texts.count ? 0 : pool->texts.list[id].size;
}

static inline fd_span
fd_text_pool_span(const fd_text_pool *pool, uint32_t id)
{
    const char *text = fd_text_pool_get(pool, id);
    return (fd_span){text, text + fd_text_pool_size(pool, id)};
}

#endif
