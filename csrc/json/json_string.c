#include "json/json_string.h"

#include "base/utf8.h"

#include <string.h>

enum { NOT_FOUR = 0x110000 };

/* Four hexadecimal digits. */
static uint32_t
four(const char *at, const char *end)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, at++) {
        char c = at < end ? *at : '\0';
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                       : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                              : NOT_FOUR;
        if (digit == NOT_FOUR) {
            return NOT_FOUR;
        }
        value = value << 4 | digit;
    }
    return value;
}

static void
put_point(fd_buffer *to, uint32_t point)
{
    char text[4];
    size_t size = point < 0x80    ? 1
                : point < 0x800   ? 2
                : point < 0x10000 ? 3
                                  : 4;
    for (size_t i = size; i-- > 1; point >>= 6) {
        text[i] = (char)(0x80 | (point & 0x3F));
    }
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    text[0] = (char)(first[size] | point);
    fd_buffer_bytes(to, text, size);
}

/* After "\u"; returns its end, or the same position if it is invalid. */
static const char *
unicode(const char *at, const char *end, fd_buffer *to)
{
    uint32_t point = four(at, end);
    if (point == NOT_FOUR) {
        fd_buffer_text(to, "\\u");
        return at;
    }
    at += 4;
    if (point >= 0xD800 && point < 0xDC00 && end - at >= 6 && at[0] == '\\'
        && at[1] == 'u') {
        uint32_t low = four(at + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            put_point(to, 0x10000 + ((point - 0xD800) << 10) + low - 0xDC00);
            return at + 6;
        }
    }
    put_point(to, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
    return at;
}

static const char *
escaped(const char *at, const char *end, fd_buffer *to)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (++at < end && *at == 'u') {
        return unicode(at + 1, end, to);
    }
    const char *name = at < end && *at != '\0' ? strchr(names, *at) : NULL;
    fd_buffer_bytes(to, name != NULL ? &meant[name - names] : "\\", 1);
    return name != NULL ? at + 1 : at;
}

void
fd_json_string(fd_span inside, fd_buffer *to)
{
    const char *at = inside.from;
    while (at < inside.to) {
        const char *from = at;
        size_t length = 1;
        while (at < inside.to && *at != '\\' && length > 0) {
            length = (unsigned char)*at < 0x80
                       ? 1
                       : fd_utf8_length(at, (size_t)(inside.to - at));
            at += length;
        }
        fd_buffer_bytes(to, from, (size_t)(at - from));
        if (length == 0) {
            fd_buffer_text(to, "\xEF\xBF\xBD");
            at++;
        }
        else if (at < inside.to) {
            at = escaped(at, inside.to, to);
        }
    }
}
