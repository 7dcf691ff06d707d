/* A growing byte buffer for text and files. A failed allocation is stored in
 * `status` and later writes do nothing, so a writer needs to check only once,
 * at the end. The owner frees it with fd_buffer_clear. */
#ifndef FD_BUFFER_H
#define FD_BUFFER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fd_buffer {
    char *bytes; /* owned; not NUL-terminated */
    size_t size;
    size_t capacity;
    fd_status status;
} fd_buffer;

/* Zero-initialised memory is an empty buffer. */
void fd_buffer_clear(fd_buffer *buffer);

/* Reserve space for `size` more bytes and return its address. Return NULL and
 * set `status` if there is no memory. */
char *fd_buffer_grow(fd_buffer *buffer, size_t size);

static inline void
fd_buffer_bytes(fd_buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0) {
        return;
    }
    bool fits =
        buffer->status == FD_OK && buffer->capacity - buffer->size >= size;
    char *to =
        fits ? buffer->bytes + buffer->size : fd_buffer_grow(buffer, size);
    if (to != NULL) {
        memcpy(to, bytes, size);
        buffer->size += size;
    }
}

/* Like fd_buffer_bytes, but not inline. */
void fd_buffer_add(fd_buffer *buffer, const void *bytes, size_t size);

/* Inline, so that the length of a literal is a constant. */
static inline void
fd_buffer_text(fd_buffer *buffer, const char *text)
{
    fd_buffer_add(buffer, text, strlen(text));
}

/* Return whether the buffer is within `budget` after `more` bytes. The budget
 * is a soft limit: writes beyond it are safe and grow the buffer. */
static inline bool
fd_buffer_fits(const fd_buffer *buffer, size_t more, size_t budget)
{
    return more <= budget && buffer->size <= budget - more;
}
void fd_buffer_format(fd_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append a decimal integer. snprintf takes ten times as long, and a dump has a
 * million integers. */
void fd_buffer_u64(fd_buffer *buffer, uint64_t value);

/* Append a time with three digits: "1.24 s", "80.0 ms", "3.10 us" (with the
 * micro sign). */
void fd_buffer_time(fd_buffer *buffer, uint64_t nanoseconds);

/* Append a JSON string with its quotes. Each invalid UTF-8 byte becomes
 * U+FFFD; control characters are escaped. */
void fd_buffer_json(fd_buffer *buffer, const char *text, size_t size);

#endif
