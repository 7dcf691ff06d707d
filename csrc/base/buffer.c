#include "base/buffer.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdio.h>

enum { FIRST_ROOM = 1024 };

char *
fd_buffer_grow(fd_buffer *buffer, size_t size)
{
    if (buffer->status != FD_OK) {
        return NULL;
    }
    if (size > SIZE_MAX / 4 || buffer->size > SIZE_MAX / 4) {
        buffer->status = FD_ENOMEM;
        return NULL;
    }
    if (buffer->capacity - buffer->size < size) {
        size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_ROOM;
        while (capacity - buffer->size < size) {
            capacity *= 2;
        }
        char *bytes = fd_realloc(buffer->bytes, capacity);
        if (bytes == NULL) {
            buffer->status = FD_ENOMEM;
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    return buffer->bytes + buffer->size;
}

void
fd_buffer_clear(fd_buffer *buffer)
{
    fd_free(buffer->bytes);
    *buffer = (fd_buffer){NULL, 0, 0, FD_OK};
}

void
fd_buffer_add(fd_buffer *buffer, const void *bytes, size_t size)
{
    fd_buffer_bytes(buffer, bytes, size);
}

void
fd_buffer_format(fd_buffer *buffer, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size > 0) {
        size_t whole = (size_t)size;
        fd_buffer_bytes(buffer, text,
                        whole < sizeof text ? whole : sizeof text - 1);
    }
}

void
fd_buffer_u64(fd_buffer *buffer, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    for (; value >= 10; value /= 100) {
        uint64_t pair = value % 100;
        digits[--at] = (char)('0' + pair % 10);
        digits[--at] = (char)('0' + pair / 10);
    }
    if (value > 0 || at == sizeof digits) {
        digits[--at] = (char)('0' + value);
    }
    fd_buffer_bytes(buffer, digits + at, sizeof digits - at);
}

/* Append a non-negative value with three digits. */
static void
put_three_digits(fd_buffer *buffer, double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    fd_buffer_format(buffer, "%.*f %s", decimals, value, unit);
}

void
fd_buffer_time(fd_buffer *buffer, uint64_t nanoseconds)
{
    double value = (double)nanoseconds;
    if (value < 999.5) {
        fd_buffer_format(buffer, "%.0f ns", value);
    }
    else if (value < 999.5e3) {
        put_three_digits(buffer, value / 1e3, "\xC2\xB5s");
    }
    else if (value < 999.5e6) {
        put_three_digits(buffer, value / 1e6, "ms");
    }
    else {
        put_three_digits(buffer, value / 1e9, "s");
    }
}

static void
json_escape(fd_buffer *buffer, unsigned char c)
{
    switch (c) {
    case '"':
        fd_buffer_text(buffer, "\\\"");
        break;
    case '\\':
        fd_buffer_text(buffer, "\\\\");
        break;
    case '\n':
        fd_buffer_text(buffer, "\\n");
        break;
    case '\t':
        fd_buffer_text(buffer, "\\t");
        break;
    default:
        fd_buffer_format(buffer, "\\u%04x", c);
    }
}

void
fd_buffer_json(fd_buffer *buffer, const char *text, size_t size)
{
    fd_buffer_text(buffer, "\"");
    size_t at = 0;
    while (at < size) {
        unsigned char c = (unsigned char)text[at];
        size_t length = fd_utf8_length(text + at, size - at);
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            json_escape(buffer, c);
            length = 1;
        }
        else if (length == 0) {
            fd_buffer_text(buffer, "\xEF\xBF\xBD");
            length = 1;
        }
        else {
            fd_buffer_bytes(buffer, text + at, length);
        }
        at += length;
    }
    fd_buffer_text(buffer, "\"");
}
