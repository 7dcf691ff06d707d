#include "et/tools/markup_text.h"

#include "base/utf8.h"

#include <stdio.h>

/* Return whether XML allows this character of `length` bytes (0: invalid
 * UTF-8). XML has no control characters, U+FFFE or U+FFFF. */
static bool
is_xml(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    bool control = first < 0x20 || first == 0x7F;
    bool not_a_character = length == 3 && first == 0xEF
                        && (unsigned char)text[1] == 0xBF
                        && (unsigned char)text[2] >= 0xBE;
    return length > 0 && !control && !not_a_character;
}

typedef const char *escaping(char one);

static void
put_escaped(fd_buffer *to, const char *text, size_t size, size_t limit,
            escaping *escape)
{
    size_t written = 0;
    for (size_t at = 0; at < size; written++) {
        if (written == limit) {
            fd_buffer_text(to, "\xE2\x80\xA6");
            return;
        }
        const char *instead = escape(text[at]);
        size_t length = fd_utf8_length(text + at, size - at);
        if (instead != NULL) {
            fd_buffer_text(to, instead);
        }
        else if (is_xml(text + at, length)) {
            fd_buffer_bytes(to, text + at, length);
        }
        else {
            fd_buffer_text(to, "\xEF\xBF\xBD");
        }
        at += length > 0 ? length : 1;
    }
}

/* Escape a character that neither labels nor XML contain. */
static const char *
escape_markup(char one)
{
    return one == '&' ? "&amp;"
         : one == '<' ? "&lt;"
         : one == '>' ? "&gt;"
                      : NULL;
}

/* Escape a character of a label. Graphviz decodes entities in labels and
 * passes them on in tooltips. */
static const char *
escape_dot(char one)
{
    return one == '"'  ? "\\\""
         : one == '\\' ? "\\\\"
         : one == '\n' ? "\\n"
                       : escape_markup(one);
}

static const char *
escape_xml(char one)
{
    return one == '"' ? "&quot;" : one == '\n' ? " " : escape_markup(one);
}

void
fd_text_xml(fd_buffer *to, const char *text, size_t size)
{
    put_escaped(to, text, size, SIZE_MAX, escape_xml);
}

void
fd_text_dot(fd_buffer *to, const char *text, size_t size, size_t limit)
{
    put_escaped(to, text, size, limit, escape_dot);
}

void
fd_text_count(fd_buffer *to, uint64_t count)
{
    char digits[24];
    int size =
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            fd_buffer_text(to, " ");
        }
        fd_buffer_bytes(to, &digits[i], 1);
    }
}
