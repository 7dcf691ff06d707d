/* JSON in memory, checked and scanned without building a tree: values are
 * spans of the text. Small faults that programs write are repaired when the
 * value is copied, and counted: NaN and Infinity (null), control characters
 * and lone backslashes in strings (escaped), invalid UTF-8 (U+FFFD). */
#ifndef FD_JSON_SCAN_H
#define FD_JSON_SCAN_H

#include "base/buffer.h"
#include "base/vector.h"

#include <stdbool.h>

enum { FD_SCAN_DEPTH = 512, FD_SCAN_REPAIRS = 4096 };

typedef enum fd_scan_result {
    FD_SCAN_OK,
    FD_SCAN_DONE, /* the object has no more members */
    FD_SCAN_CUT,  /* the text ends within the value */
    FD_SCAN_BAD,  /* not JSON, and no fault to repair */
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

/* The contents of a buffer, borrowed. */
static inline fd_span
fd_span_of(const fd_buffer *buffer)
{
    return (fd_span){buffer->bytes, buffer->bytes + buffer->size};
}

typedef struct fd_repair {
    fd_span bad;
    char good[8];
} fd_repair;

typedef struct fd_scan {
    const char *at;
    const char *end;
    FD_VECTOR(fd_repair) repairs; /* in the order of the text */
    bool forgets;                 /* do not store repairs */
} fd_scan;

/* Start at `at`, without repairs. */
void fd_scan_begin(fd_scan *scan, const char *at, const char *end);
void fd_scan_clear(fd_scan *scan);

/* Each advances `at` past what it found; after a fault `at` is at or after
 * it. */
void fd_scan_space(fd_scan *scan);
fd_scan_result fd_scan_value(fd_scan *scan);

/* Skip space, then accept only the character `wanted`. */
fd_scan_result fd_scan_mark(fd_scan *scan, char wanted);

/* The next member of an object, after its '{' or its last value: the name
 * without quotes; `at` is at the value. */
fd_scan_result fd_scan_member(fd_scan *scan, bool first, fd_span *name);

/* The next value of an array, after its '[' or its last value. */
fd_scan_result fd_scan_element(fd_scan *scan, bool first, fd_span *value);

/* The values of members of an object by name, zero for missing ones; the last
 * one of a name counts. False unless it is an object. */
bool fd_scan_members(fd_span object, const char *const *names, size_t count,
                     fd_span *values);

/* Find a member of an object by name; the last one counts. */
bool fd_scan_find(fd_span object, const char *name, fd_span *value);

/* Append a part of the text, repaired. */
void fd_scan_copy(const fd_scan *scan, fd_span part, fd_buffer *to);

static inline size_t
fd_span_size(fd_span span)
{
    return (size_t)(span.to - span.from);
}

bool fd_span_is(fd_span span, const char *text);
bool fd_span_begins(fd_span span, const char *prefix);

/* The content of a string, without its quotes; other values unchanged. */
fd_span fd_span_inside(fd_span value);

/* A value as words in a C string: "pipe 1, data 0" for {"pipe":1,"data":0}, a
 * string without its quotes, a number unchanged. False, and "", for other
 * values, for escapes and if `room` is too small. */
bool fd_span_words(fd_span value, char *to, size_t room);

/* An unsigned integer, whole and in range. */
bool fd_span_u64(fd_span value, uint64_t *number);

/* Any number, in any locale. */
bool fd_span_double(fd_span value, double *number);

#endif
