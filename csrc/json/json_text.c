#include "json/json_text.h"

#include "base/utf8.h"
#include "json/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set `good` to whether the text is JSON. Control characters and invalid UTF-8
 * in strings are repaired; other faults are not. The NUL at the end terminates
 * a number. */
static fd_scan_result
check_text(fd_scan *scan, const char *json, size_t size, bool *good)
{
    fd_scan_begin(scan, json, json + size + 1);
    fd_scan_result result = fd_scan_value(scan);
    fd_scan_space(scan);
    *good = result == FD_SCAN_OK && scan->at == json + size;
    for (uint32_t i = 0; i < scan->repairs.count; i++) {
        unsigned char bad = (unsigned char)*scan->repairs.list[i].bad.from;
        *good = *good && (bad < 0x20 || bad >= 0x80);
    }
    return result;
}

/* Append a number: integers keep all digits; others have 15 digits, or 17 if
 * needed. */
static void
put_number(fd_buffer *to, fd_span number)
{
    char text[32];
    double value = 0;
    fd_json_writer w = {.to = to};
    size_t size = fd_span_size(number);
    if (memchr(number.from, '.', size) == NULL
        && memchr(number.from, 'e', size) == NULL
        && memchr(number.from, 'E', size) == NULL) {
        fd_buffer_bytes(to, number.from, size);
        return;
    }
    bool known = fd_span_double(number, &value);
    snprintf(text, sizeof text, "%.15g", value);
    double rounded = strtod(text, NULL);
    if (!known) {
        fd_json_put_null(&w, NULL);
    }
    else if (!isfinite(value) || value < rounded || value > rounded) {
        fd_json_put_double(&w, NULL, value);
    }
    else {
        fd_json_put_digits(&w, NULL, text);
    }
}

static void
put_string(fd_buffer *to, const char *text, size_t size)
{
    static const char special[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    fd_buffer_bytes(to, "\"", 1);
    for (const char *c = text; c < text + size; c++) {
        const char *found = *c != '\0' ? strchr(special, *c) : NULL;
        if (found != NULL) {
            fd_buffer_format(to, "\\%c", names[found - special]);
        }
        else if ((unsigned char)*c < 0x20) {
            fd_buffer_format(to, "\\u%04x", (unsigned)*c);
        }
        else {
            fd_buffer_bytes(to, c, 1);
        }
    }
    fd_buffer_bytes(to, "\"", 1);
}

static void
put_decoded(fd_buffer *to, fd_span inside)
{
    fd_buffer text = {.bytes = NULL};
    fd_json_string(inside, &text);
    put_string(to, text.bytes, text.size);
    to->status = text.status != FD_OK ? text.status : to->status;
    fd_buffer_clear(&text);
}

/* Append the tokens of a valid value, without the spaces between them. */
static void
put_tokens(fd_buffer *to, const char *at, const char *end)
{
    fd_scan scan = {.at = at, .end = end + 1, .forgets = true};
    for (fd_scan_space(&scan); scan.at < end; fd_scan_space(&scan)) {
        const char *from = scan.at;
        if (strchr("{}[]:,", *from) != NULL) {
            fd_buffer_bytes(to, scan.at++, 1);
            continue;
        }
        fd_scan_value(&scan);
        if (*from == '"') {
            put_decoded(to, (fd_span){from + 1, scan.at - 1});
        }
        else if (strchr("tfn", *from) != NULL) {
            fd_buffer_bytes(to, from, (size_t)(scan.at - from));
        }
        else {
            put_number(to, (fd_span){from, scan.at});
        }
    }
}

void
fd_json_text(fd_buffer *to, const char *json)
{
    fd_scan scan = {.at = NULL};
    size_t size = strlen(json);
    bool good = false;
    fd_scan_result result = check_text(&scan, json, size, &good);
    if (result == FD_SCAN_ENOMEM) {
        to->status = FD_ENOMEM;
    }
    else if (good) {
        put_tokens(to, json, json + size);
    }
    else {
        put_string(to, json, size);
    }
    fd_scan_clear(&scan);
}

enum { NOT_FOUR = 0x110000 };

/* Parse four hexadecimal digits. */
static uint32_t
four_digits(const char *at, const char *end)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, at++) {
        uint32_t digit = at < end ? fd_hex_digit(*at) : 16;
        if (digit == 16) {
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

/* Decode the digits after "\u". Return the end, or `at` if they are
 * invalid. */
static const char *
decode_unicode(const char *at, const char *end, fd_buffer *to)
{
    uint32_t point = four_digits(at, end);
    if (point == NOT_FOUR) {
        fd_buffer_text(to, "\\u");
        return at;
    }
    at += 4;
    if (point >= 0xD800 && point < 0xDC00 && end - at >= 6 && at[0] == '\\'
        && at[1] == 'u') {
        uint32_t low = four_digits(at + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            put_point(to, 0x10000 + ((point - 0xD800) << 10) + low - 0xDC00);
            return at + 6;
        }
    }
    put_point(to, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
    return at;
}

static const char *
decode_escape(const char *at, const char *end, fd_buffer *to)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (++at < end && *at == 'u') {
        return decode_unicode(at + 1, end, to);
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
            at = decode_escape(at, inside.to, to);
        }
    }
}

/* Return the printable character of the escape at `at`, or 0. */
static char
plain_character(const char *at, const char *end)
{
    if (end - at >= 2 && at[1] == '/') {
        return '/';
    }
    uint32_t value =
        end - at >= 6 && at[1] == 'u' ? four_digits(at + 2, end) : 0;
    return value >= ' ' && value <= '~' && value != '"' && value != '\\'
             ? (char)value
             : '\0';
}

void
fd_json_plain(fd_buffer *text)
{
    char *to = text->bytes;
    const char *at = to;
    const char *end = to + text->size;
    while (at < end) {
        char plain = *at == '\\' ? plain_character(at, end) : '\0';
        if (plain != '\0') {
            *to++ = plain;
            at += at[1] == '/' ? 2 : 6;
            continue;
        }
        if (*at == '\\' && end - at > 1) {
            *to++ = *at++;
        }
        *to++ = *at++;
    }
    text->size = (size_t)(to - text->bytes);
}
