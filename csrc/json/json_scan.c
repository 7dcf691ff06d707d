#include "json/json_scan.h"

#include "base/budget.h"
#include "base/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 128 };

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The open objects and arrays around the value. */
typedef struct nest {
    uint32_t depth;
    bool object[FD_SCAN_DEPTH];
} nest;

void
fd_scan_begin(fd_scan *scan, const char *at, const char *end)
{
    scan->at = at;
    scan->end = end;
    scan->repairs.count = 0;
}

void
fd_scan_clear(fd_scan *scan)
{
    fd_vector_clear(&scan->repairs);
}

static fd_scan_result
add_repair(fd_scan *scan, const char *from, size_t size, const char *good)
{
    if (scan->forgets) {
        return FD_SCAN_OK;
    }
    fd_repair entry = {{from, from + size}, ""};
    snprintf(entry.good, sizeof entry.good, "%s", good);
    if (scan->repairs.count >= fd_budget(FD_SCAN_REPAIRS)) {
        return FD_SCAN_BAD;
    }
    return fd_vector_push(&scan->repairs, entry) == FD_OK ? FD_SCAN_OK
                                                          : FD_SCAN_ENOMEM;
}

/* Return whether a byte of a string is special: a quote, a backslash, a
 * control character, or not ASCII. */
static bool
is_odd(char c)
{
    return (unsigned char)c < 0x20 || (unsigned char)c >= 0x80 || c == '"'
        || c == '\\';
}

/* Find the first special byte, eight bytes at a time. The top bit of each
 * special byte is set in the mask; a borrow can set wrong bits only above a
 * correct one, so the lowest set bit is correct, and on little-endian machines
 * it is the first in memory. */
static const char *
find_odd(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t quote = word ^ EVERY('"');
        uint64_t slash = word ^ EVERY('\\');
        uint64_t odd = ((quote - EVERY(1)) | (slash - EVERY(1))
                        | (word - EVERY(0x20)) | word)
                     & EVERY(0x80);
        if (odd != 0) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + __builtin_ctzll(odd) / 8;
#else
            break;
#endif
        }
    }
    while (at < end && !is_odd(*at)) {
        at++;
    }
    return at;
}

static bool
is_hex(const char *at)
{
    int i = 0;
    while (i < 4 && fd_hex_digit(at[i]) < 16) {
        i++;
    }
    return i == 4;
}

/* Scan an escape sequence. */
static fd_scan_result
scan_escape(fd_scan *scan)
{
    const char *at = scan->at;
    if (scan->end - at < 2) {
        return FD_SCAN_CUT;
    }
    if (at[1] == 'u') {
        if (scan->end - at < 6) {
            return FD_SCAN_CUT;
        }
        if (is_hex(at + 2)) {
            scan->at += 6;
            return FD_SCAN_OK;
        }
    }
    else if (at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL) {
        scan->at += 2;
        return FD_SCAN_OK;
    }
    scan->at++;
    return add_repair(scan, at, 1, "\\\\");
}

static fd_scan_result
odd_byte(fd_scan *scan)
{
    const char *at = scan->at;
    unsigned char c = (unsigned char)*at;
    if (c == '\\') {
        return scan_escape(scan);
    }
    if (c < 0x20) {
        char text[8];
        snprintf(text, sizeof text, "\\u%04x", c);
        scan->at++;
        return add_repair(scan, at, 1, text);
    }
    size_t length = fd_utf8_length(at, (size_t)(scan->end - at));
    if (length > 0) {
        scan->at += length;
        return FD_SCAN_OK;
    }
    if (scan->end - at < 4) {
        return FD_SCAN_CUT;
    }
    scan->at++;
    return add_repair(scan, at, 1, "\xEF\xBF\xBD");
}

/* Scan the rest of a string, from its first special byte on. */
static fd_scan_result
rest_of_string(fd_scan *scan)
{
    for (;;) {
        if (scan->at == scan->end) {
            return FD_SCAN_CUT;
        }
        if (*scan->at == '"') {
            scan->at++;
            return FD_SCAN_OK;
        }
        fd_scan_result result = odd_byte(scan);
        if (result != FD_SCAN_OK) {
            return result;
        }
        scan->at = find_odd(scan->at, scan->end);
    }
}

static inline fd_scan_result
scan_string(fd_scan *scan)
{
    scan->at = find_odd(scan->at + 1, scan->end);
    if (scan->at < scan->end && *scan->at == '"') {
        scan->at++;
        return FD_SCAN_OK;
    }
    return rest_of_string(scan);
}

static bool
scan_digits(fd_scan *scan)
{
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
        scan->at++;
    }
    return scan->at > from;
}

static bool
skip_either(fd_scan *scan, char one, char other)
{
    bool there =
        scan->at < scan->end && (*scan->at == one || *scan->at == other);
    scan->at += there;
    return there;
}

static fd_scan_result
scan_number(fd_scan *scan)
{
    bool good = skip_either(scan, '0', '0') || scan_digits(scan);
    if (good && skip_either(scan, '.', '.')) {
        good = scan_digits(scan);
    }
    if (good && skip_either(scan, 'e', 'E')) {
        skip_either(scan, '+', '-');
        good = scan_digits(scan);
    }
    return scan->at == scan->end ? FD_SCAN_CUT
         : good                  ? FD_SCAN_OK
                                 : FD_SCAN_BAD;
}

/* Scan a literal such as "null". `from` is its start, before a sign; a literal
 * that is not JSON is repaired to null. */
static fd_scan_result
scan_word(fd_scan *scan, const char *from, const char *text, bool is_json)
{
    size_t size = strlen(text);
    size_t there = (size_t)(scan->end - scan->at);
    if (memcmp(scan->at, text, there < size ? there : size) != 0) {
        return FD_SCAN_BAD;
    }
    if (there <= size) {
        return FD_SCAN_CUT;
    }
    scan->at += size;
    return is_json ? FD_SCAN_OK
                   : add_repair(scan, from, (size_t)(scan->at - from), "null");
}

static fd_scan_result
scan_scalar(fd_scan *scan)
{
    const char *from = scan->at;
    if (*scan->at == '-' && ++scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    char c = *scan->at;
    if (c >= '0' && c <= '9') {
        return scan_number(scan);
    }
    switch (c) {
    case 'N':
        return scan_word(scan, from, "NaN", false);
    case 'n':
        if (from == scan->at && scan->end - from > 1 && from[1] == 'u') {
            return scan_word(scan, from, "null", true);
        }
        return scan_word(scan, from, "nan", false);
    case 'I':
        return scan_word(scan, from, "Infinity", false);
    case 'i':
        return scan_word(scan, from, "inf", false);
    default:
        break;
    }
    return from < scan->at ? FD_SCAN_BAD
         : c == '"'        ? scan_string(scan)
         : c == 't'        ? scan_word(scan, from, "true", true)
         : c == 'f'        ? scan_word(scan, from, "false", true)
                           : FD_SCAN_BAD;
}

static fd_scan_result
name_and_colon(fd_scan *scan, fd_span *name)
{
    fd_scan_result result = fd_scan_mark(scan, '"');
    if (result != FD_SCAN_OK) {
        return result;
    }
    name->from = scan->at--;
    result = scan_string(scan);
    name->to = scan->at - 1;
    if (result == FD_SCAN_OK) {
        result = fd_scan_mark(scan, ':');
    }
    if (result == FD_SCAN_OK) {
        fd_scan_space(scan);
    }
    return result;
}

fd_scan_result
fd_scan_member(fd_scan *scan, bool first, fd_span *name)
{
    fd_scan_space(scan);
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    if (*scan->at == '}') {
        scan->at++;
        return FD_SCAN_DONE;
    }
    fd_scan_result result = first ? FD_SCAN_OK : fd_scan_mark(scan, ',');
    return result == FD_SCAN_OK ? name_and_colon(scan, name) : result;
}

/* Scan a value, or the start of an object or array. Return FD_SCAN_DONE if its
 * first item follows. */
static fd_scan_result
begin_value(fd_scan *scan, nest *open)
{
    fd_scan_space(scan);
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    char c = *scan->at;
    if (c != '{' && c != '[') {
        return scan_scalar(scan);
    }
    if (open->depth == FD_SCAN_DEPTH) {
        return FD_SCAN_DEEP;
    }
    scan->at++;
    fd_scan_space(scan);
    if (scan->at < scan->end && *scan->at == (c == '{' ? '}' : ']')) {
        scan->at++;
        return FD_SCAN_OK;
    }
    open->object[open->depth++] = c == '{';
    fd_span name;
    fd_scan_result result =
        c == '{' ? name_and_colon(scan, &name) : FD_SCAN_OK;
    return result == FD_SCAN_OK ? FD_SCAN_DONE : result;
}

/* Scan the punctuation after a value. Return FD_SCAN_DONE if another item
 * follows. */
static fd_scan_result
end_value(fd_scan *scan, nest *open)
{
    while (open->depth > 0) {
        bool object = open->object[open->depth - 1];
        fd_scan_space(scan);
        if (scan->at == scan->end) {
            return FD_SCAN_CUT;
        }
        char c = *scan->at;
        if (c == ',') {
            scan->at++;
            fd_span name;
            fd_scan_result result =
                object ? name_and_colon(scan, &name) : FD_SCAN_OK;
            return result == FD_SCAN_OK ? FD_SCAN_DONE : result;
        }
        if (c != (object ? '}' : ']')) {
            return FD_SCAN_BAD;
        }
        scan->at++;
        open->depth--;
    }
    return FD_SCAN_OK;
}

fd_scan_result
fd_scan_value(fd_scan *scan)
{
    nest open;
    open.depth = 0;
    fd_scan_result result;
    do {
        result = begin_value(scan, &open);
        if (result == FD_SCAN_OK) {
            result = end_value(scan, &open);
        }
    } while (result == FD_SCAN_DONE);
    return result;
}

fd_scan_result
fd_scan_element(fd_scan *scan, bool first, fd_span *value)
{
    fd_scan_space(scan);
    if (scan->at < scan->end && *scan->at == ']') {
        scan->at++;
        return FD_SCAN_DONE;
    }
    fd_scan_result result = first ? FD_SCAN_OK : fd_scan_mark(scan, ',');
    fd_scan_space(scan);
    value->from = scan->at;
    result = result == FD_SCAN_OK ? fd_scan_value(scan) : result;
    value->to = scan->at;
    return result;
}

bool
fd_scan_members(fd_span object, const char *const *names, size_t count,
                fd_span *values)
{
    fd_scan scan = {.at = object.from, .end = object.to, .forgets = true};
    fd_span name;
    memset(values, 0, count * sizeof *values);
    fd_scan_result result = fd_scan_mark(&scan, '{');
    for (bool first = true; result == FD_SCAN_OK; first = false) {
        result = fd_scan_member(&scan, first, &name);
        fd_span value = {scan.at, scan.at};
        result = result == FD_SCAN_OK ? fd_scan_value(&scan) : result;
        value.to = scan.at;
        for (size_t i = 0; i < count && result == FD_SCAN_OK; i++) {
            if (fd_span_is(name, names[i])) {
                values[i] = value;
                break;
            }
        }
    }
    return result == FD_SCAN_DONE;
}

bool
fd_scan_find(fd_span object, const char *name, fd_span *value)
{
    fd_span found;
    fd_scan_members(object, &name, 1, &found);
    if (found.from == NULL) {
        return false;
    }
    *value = found;
    return true;
}

void
fd_scan_copy(const fd_scan *scan, fd_span part, fd_buffer *to)
{
    const char *at = part.from;
    for (uint32_t i = 0; i < scan->repairs.count; i++) {
        const fd_repair *each = &scan->repairs.list[i];
        if (each->bad.from >= at && each->bad.to <= part.to) {
            fd_buffer_bytes(to, at, (size_t)(each->bad.from - at));
            fd_buffer_text(to, each->good);
            at = each->bad.to;
        }
    }
    fd_buffer_bytes(to, at, (size_t)(part.to - at));
}

bool
fd_span_begins(fd_span span, const char *prefix)
{
    size_t size = strlen(prefix);
    return fd_span_size(span) >= size && memcmp(span.from, prefix, size) == 0;
}

fd_span
fd_span_inside(fd_span value)
{
    bool quoted = fd_span_size(value) >= 2 && *value.from == '"';
    return quoted ? (fd_span){value.from + 1, value.to - 1} : value;
}

static bool
is_plain(fd_span value)
{
    return fd_span_size(value) > 0 && *value.from != '{' && *value.from != '['
        && memchr(value.from, '\\', fd_span_size(value)) == NULL;
}

/* Append a word to a C string of `capacity` bytes. */
static bool
add_word(fd_span word, char *to, size_t capacity)
{
    size_t size = strlen(to);
    word = fd_span_inside(word);
    if (fd_span_size(word) >= capacity - size) {
        return false;
    }
    memcpy(to + size, word.from, fd_span_size(word));
    to[size + fd_span_size(word)] = '\0';
    return true;
}

bool
fd_span_words(fd_span value, char *to, size_t capacity)
{
    static const char separators[] = ", ";
    fd_scan scan = {.at = value.from, .end = value.to, .forgets = true};
    to[0] = '\0';
    if (is_plain(value)) {
        return add_word(value, to, capacity);
    }
    fd_span name;
    fd_scan_result result = fd_scan_mark(&scan, '{');
    for (bool first = true; result == FD_SCAN_OK; first = false) {
        result = fd_scan_member(&scan, first, &name);
        const char *from = scan.at;
        result = result == FD_SCAN_OK ? fd_scan_value(&scan) : result;
        fd_span each = {from, scan.at};
        if (result == FD_SCAN_OK
            && !(is_plain(name) && is_plain(each)
                 && add_word(
                     (fd_span){separators, separators + (first ? 0 : 2)}, to,
                     capacity)
                 && add_word(name, to, capacity)
                 && add_word((fd_span){separators + 1, separators + 2}, to,
                             capacity)
                 && add_word(each, to, capacity))) {
            result = FD_SCAN_BAD;
        }
    }
    to[0] = result == FD_SCAN_DONE ? to[0] : '\0';
    return to[0] != '\0';
}

bool
fd_span_u64(fd_span value, uint64_t *number)
{
    *number = 0;
    for (const char *at = value.from; at < value.to; at++) {
        if (*at < '0' || *at > '9'
            || __builtin_mul_overflow(*number, UINT64_C(10), number)
            || __builtin_add_overflow(*number, (uint64_t)(*at - '0'),
                                      number)) {
            return false;
        }
    }
    return value.from < value.to;
}

bool
fd_span_hex(fd_span value, uint64_t *number)
{
    const char *at = value.from;
    bool marked =
        fd_span_size(value) > 2 && at[0] == '0' && (at[1] | 0x20) == 'x';
    at += marked ? 2 : 0;
    bool valid = at < value.to && value.to - at <= 16;
    for (*number = 0; valid && at < value.to; at++) {
        uint32_t digit = fd_hex_digit(*at);
        valid = digit < 16;
        *number = *number << 4 | digit;
    }
    return valid;
}

bool
fd_span_double(fd_span value, double *number)
{
    char text[LONGEST_NUMBER];
    char *end;
    size_t size = fd_span_size(value);
    if (size == 0 || size >= sizeof text) {
        return false;
    }
    memcpy(text, value.from, size);
    text[size] = '\0';
    if (strspn(text, "0123456789+-.eE") < size) {
        return false;
    }
    char *point = strchr(text, '.');
    if (point != NULL) {
        *point = *localeconv()->decimal_point;
    }
    *number = strtod(text, &end);
    return end == text + size;
}
