/* A validating JSON scanner that builds no tree: values are spans of the text.
 * Some faults that programs produce are repaired when the value is copied, and
 * counted: NaN and Infinity (null), control characters and lone backslashes in
 * strings (escaped), invalid UTF-8 (U+FFFD). */
#ifndef FD_JSON_SCAN_H
#define FD_JSON_SCAN_H

#include "base/buffer.h"
#include "base/vector.h"

#include <stdbool.h>

enum { FD_SCAN_DEPTH = 512, FD_SCAN_REPAIRS = 4096 };

typedef enum fd_scan_result {
    FD_SCAN_OK,
    FD_SCAN_DONE, /* there are no more members or elements */
    FD_SCAN_CUT,  /* the text ends within the value */
    FD_SCAN_BAD,  /* not JSON, and not repairable */
    FD_SCAN_DEEP, /* nested deeper than FD_SCAN_DEPTH */
    FD_SCAN_ENOMEM
} fd_scan_result;

typedef struct fd_span {
    const char *from;
    const char *to;
} fd_span;

static inline bool
fd_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Return the contents of a buffer, borrowed. */
static inline fd_span
fd_span_of(const fd_buffer *buffer)
{
    return (fd_span){buffer->bytes, buffer->bytes + buffer->size};
}

static inline fd_span
fd_span_text(const char *text)
{
    return (fd_span){text, text + strlen(text)};
}

typedef struct fd_repair {
    fd_span bad;
    char good[8];
} fd_repair;

typedef struct fd_scan {
    const char *at;
    const char *end;
    FD_VECTOR(fd_repair) repairs; /* in text order */
    bool forgets;                 /* do not store repairs */
} fd_scan;

/* Start at `at`, without repairs. */
void fd_scan_begin(fd_scan *scan, const char *at, const char *end);
void fd_scan_clear(fd_scan *scan);

/* Skip space. Most calls find none, between the tokens of compact JSON. */
static inline void
fd_scan_space(fd_scan *scan)
{
    const char *at = scan->at;
    while (at < scan->end && (unsigned char)*at <= ' '
           && fd_json_is_space(*at)) {
        at++;
    }
    scan->at = at;
}

/* Skip a value: advance `at` past it. After a fault, `at` is at or after the
 * fault. */
fd_scan_result fd_scan_value(fd_scan *scan);

/* Skip space, then the character `wanted`; fail at other characters. */
static inline fd_scan_result
fd_scan_mark(fd_scan *scan, char wanted)
{
    fd_scan_space(scan);
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    if (*scan->at != wanted) {
        return FD_SCAN_BAD;
    }
    scan->at++;
    return FD_SCAN_OK;
}

/* Read the name of the next member of an object, without quotes, and advance
 * `at` to its value. Call it after the '{' (`first`) or after the previous
 * value. */
fd_scan_result fd_scan_member(fd_scan *scan, bool first, fd_span *name);

/* Read the next value of an array, after the '[' (`first`) or after the
 * previous value. */
fd_scan_result fd_scan_element(fd_scan *scan, bool first, fd_span *value);

/* Get the values of members of an object by name: zero for missing ones, the
 * last one if a name is repeated. Return false if it is not an object. */
bool fd_scan_members(fd_span object, const char *const *names, size_t count,
                     fd_span *values);

/* Find a member of an object by name, the last one if the name is repeated. */
bool fd_scan_find(fd_span object, const char *name, fd_span *value);

/* Append a part of the text, with repairs. */
void fd_scan_copy(const fd_scan *scan, fd_span part, fd_buffer *to);

static inline size_t
fd_span_size(fd_span span)
{
    return (size_t)(span.to - span.from);
}

/* Inline, so that the length of a literal is a constant. */
static inline bool
fd_span_is(fd_span span, const char *text)
{
    size_t size = strlen(text);
    return fd_span_size(span) == size && memcmp(span.from, text, size) == 0;
}

bool fd_span_begins(fd_span span, const char *prefix);

/* Return the content of a string without its quotes; return other values
 * unchanged. */
fd_span fd_span_inside(fd_span value);

/* Write a value as plain words: "pipe 1, data 0" for {"pipe":1,"data":0}, a
 * string without its quotes, a number unchanged. Return false and write "" for
 * other values, for escapes and if `capacity` is too small. */
bool fd_span_words(fd_span value, char *to, size_t capacity);

/* Read an unsigned integer. Return false for other values or out of range. */
bool fd_span_u64(fd_span value, uint64_t *number);

/* Read up to 16 hexadecimal digits, after "0x" or without it. */
bool fd_span_hex(fd_span value, uint64_t *number);

/* Read a number, independent of the locale. */
bool fd_span_double(fd_span value, double *number);

#endif
