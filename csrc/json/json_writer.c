#include "json/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_KEY = 60 };

/* Write comma, line break and key in one piece, unless the key is long. */
fd_buffer *
fd_json_put(fd_json_writer *w, const char *key)
{
    char text[SHORT_KEY + 5];
    size_t size = 0;
    text[0] = ',';
    size += w->comma;
    text[size] = '\n';
    size += w->line;
    w->comma = true;
    w->line = false;
    if (key != NULL) {
        size_t length = strlen(key);
        text[size++] = '"';
        if (length <= SHORT_KEY) {
            memcpy(text + size, key, length);
            size += length;
        }
        else {
            fd_buffer_bytes(w->to, text, size);
            fd_buffer_bytes(w->to, key, length);
            size = 0;
        }
        text[size++] = '"';
        text[size++] = ':';
    }
    fd_buffer_bytes(w->to, text, size);
    return w->to;
}

static void
begin_bracket(fd_json_writer *w, const char *key, const char *bracket)
{
    fd_buffer_bytes(fd_json_put(w, key), bracket, 1);
    w->comma = false;
}

static void
end_bracket(fd_json_writer *w, const char *bracket)
{
    w->comma = false;
    fd_buffer_bytes(fd_json_put(w, NULL), bracket, 1);
}

void
fd_json_begin_object(fd_json_writer *w, const char *key)
{
    begin_bracket(w, key, "{");
}

void
fd_json_begin_array(fd_json_writer *w, const char *key)
{
    begin_bracket(w, key, "[");
}

void
fd_json_end_object(fd_json_writer *w)
{
    end_bracket(w, "}");
}

void
fd_json_end_array(fd_json_writer *w)
{
    end_bracket(w, "]");
}

void
fd_json_key(fd_json_writer *w, const char *text, size_t size)
{
    fd_json_put_bytes(w, NULL, text, size);
    fd_buffer_bytes(w->to, ":", 1);
    w->comma = false;
}

void
fd_json_put_bytes(fd_json_writer *w, const char *key, const char *text,
                  size_t size)
{
    fd_buffer_json(fd_json_put(w, key), text, size);
}

void
fd_json_put_text(fd_json_writer *w, const char *key, const char *text)
{
    fd_json_put_bytes(w, key, text, strlen(text));
}

void
fd_json_put_u64(fd_json_writer *w, const char *key, uint64_t value)
{
    fd_buffer_u64(fd_json_put(w, key), value);
}

void
fd_json_put_i64(fd_json_writer *w, const char *key, int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    fd_buffer_bytes(fd_json_put(w, key), "-", value < 0);
    fd_buffer_u64(w->to, magnitude);
}

void
fd_json_put_bool(fd_json_writer *w, const char *key, bool value)
{
    fd_buffer_text(fd_json_put(w, key), value ? "true" : "false");
}

void
fd_json_put_null(fd_json_writer *w, const char *key)
{
    fd_buffer_bytes(fd_json_put(w, key), "null", 4);
}

/* The traced program may have set a locale in which printf writes "0,5", or a
 * separator of several bytes. */
void
fd_json_put_digits(fd_json_writer *w, const char *key, const char *printed)
{
    bool pointed = false;
    fd_json_put(w, key);
    for (const char *at = printed; *at != '\0'; at++) {
        if (strchr("0123456789+-e", *at) != NULL) {
            fd_buffer_bytes(w->to, at, 1);
        }
        else if (!pointed) {
            fd_buffer_bytes(w->to, ".", 1);
            pointed = true;
        }
    }
}

/* Return whether "%.17g" prints the digits of an integer. */
static bool
is_integer(double value)
{
    const double exact = 1LL << 53;
    return value > -exact && value < exact && trunc(value) == value
        && (value != 0 || !signbit(value));
}

void
fd_json_put_double(fd_json_writer *w, const char *key, double value)
{
    char text[32];
    if (!isfinite(value)) {
        fd_json_put_null(w, key);
        return;
    }
    if (is_integer(value)) {
        fd_json_put_i64(w, key, (int64_t)value);
        return;
    }
    snprintf(text, sizeof text, "%.17g", value);
    fd_json_put_digits(w, key, text);
}
