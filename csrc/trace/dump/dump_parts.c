#include "trace/dump/dump_parts.h"

#include <string.h>

static const char *const NAMES[] = {"format",  "version",  "strings", "nodes",
                                    "modules", "contexts", "ranks"};

/* Return the next character after any white space; NUL at the end. */
static char
peek_char(fd_bytes_in *in)
{
    fd_scan scan = {.at = NULL};
    do {
        fd_scan_begin(&scan, in->at, in->end);
        fd_scan_space(&scan);
        in->at = scan.at;
    } while (in->at == in->end && fd_bytes_in_more(in));
    return in->at < in->end ? *in->at : '\0';
}

static fd_scan_result
scan_mark(fd_bytes_in *in, char wanted)
{
    char c = peek_char(in);
    if (c != wanted) {
        return in->at == in->end ? FD_SCAN_CUT : FD_SCAN_BAD;
    }
    in->at++;
    return FD_SCAN_OK;
}

/* Read one complete value into the window; the text is valid until more is
 * read. */
static fd_scan_result
read_value(fd_bytes_in *in, fd_dump_part *part, fd_span *text)
{
    fd_scan scan = {.forgets = true};
    fd_scan_result result;
    peek_char(in);
    do {
        fd_scan_begin(&scan, in->at, in->end);
        result = fd_scan_value(&scan);
    } while (result == FD_SCAN_CUT && fd_bytes_in_more(in));
    if (result == FD_SCAN_CUT) { /* the window has moved */
        in->at = in->end;
        return result;
    }
    *text = (fd_span){in->at, scan.at};
    part->at = fd_bytes_in_offset(in, in->at);
    part->size = fd_span_size(*text);
    in->at = scan.at;
    return result;
}

static fd_scan_result
find_ranks(fd_dump_parts *parts)
{
    fd_dump_part rank;
    fd_span text;
    fd_scan_result result = scan_mark(&parts->in, '[');
    bool first = true;
    parts->has_ranks = true;
    parts->ranks.count = 0;
    while (result == FD_SCAN_OK && peek_char(&parts->in) != ']') {
        result = first ? FD_SCAN_OK : scan_mark(&parts->in, ',');
        first = false;
        if (result == FD_SCAN_OK) {
            result = read_value(&parts->in, &rank, &text);
        }
        if (result == FD_SCAN_OK
            && fd_vector_push(&parts->ranks, rank) != FD_OK) {
            result = FD_SCAN_ENOMEM;
        }
    }
    return result == FD_SCAN_OK ? scan_mark(&parts->in, ']') : result;
}

static fd_scan_result
find_part(fd_dump_parts *parts)
{
    fd_bytes_in *in = &parts->in;
    fd_dump_part one;
    fd_span text;
    int part = 0;
    if (peek_char(in) != '"') {
        return in->at == in->end ? FD_SCAN_CUT : FD_SCAN_BAD;
    }
    fd_scan_result result = read_value(in, &one, &text);
    while (result == FD_SCAN_OK && part < FD_DUMP_PARTS
           && !fd_span_is(fd_span_inside(text), NAMES[part])) {
        part++;
    }
    if (result == FD_SCAN_OK) {
        result = scan_mark(in, ':');
    }
    if (result == FD_SCAN_OK && part == FD_DUMP_RANKS
        && peek_char(in) == '[') {
        return find_ranks(parts);
    }
    if (result == FD_SCAN_OK) {
        result = read_value(in, &one, &text);
    }
    if (result == FD_SCAN_OK && part < FD_DUMP_PARTS) {
        parts->parts[part] = one;
    }
    return result;
}

static fd_scan_result
find_parts(fd_dump_parts *parts)
{
    fd_bytes_in *in = &parts->in;
    fd_scan_result result = scan_mark(in, '{');
    bool first = true;
    while (result == FD_SCAN_OK && peek_char(in) != '}') {
        result = first ? FD_SCAN_OK : scan_mark(in, ',');
        first = false;
        if (result == FD_SCAN_OK) {
            result = find_part(parts);
        }
    }
    if (result == FD_SCAN_OK) {
        result = scan_mark(in, '}');
    }
    peek_char(in);
    return result == FD_SCAN_OK && in->at < in->end ? FD_SCAN_BAD : result;
}

static void
skip_byte_order_mark(fd_bytes_in *in)
{
    while (in->end - in->at < 3 && fd_bytes_in_more(in)) {
    }
    if (in->end - in->at >= 3 && memcmp(in->at, "\xEF\xBB\xBF", 3) == 0) {
        in->at += 3;
    }
}

fd_status
fd_dump_parts_open(fd_dump_parts *parts, const char *path, fd_error *error)
{
    fd_bytes_in *in = &parts->in;
    *parts = (fd_dump_parts){.has_ranks = false};
    fd_status status = fd_bytes_in_open(in, path, error);
    if (status != FD_OK) {
        return status;
    }
    in->most = SIZE_MAX / 4;
    skip_byte_order_mark(in);
    if (peek_char(in) == '[') {
        return FD_OK;
    }
    fd_scan_result result = find_parts(parts);
    if (in->status != FD_OK || result == FD_SCAN_ENOMEM) {
        return in->status != FD_OK ? in->status : FD_ENOMEM;
    }
    if (in->trouble != NULL) {
        return fd_fail(error, FD_EIO, "%s: %s", path, in->trouble);
    }
    return result == FD_SCAN_OK
             ? FD_OK
             : fd_fail(error, FD_EFORMAT, "%s: not valid JSON at byte %llu",
                       path,
                       (unsigned long long)fd_bytes_in_offset(in, in->at));
}

void
fd_dump_parts_close(fd_dump_parts *parts)
{
    fd_bytes_in_close(&parts->in);
    fd_vector_clear(&parts->ranks);
}

fd_status
fd_dump_parts_read(fd_dump_parts *parts, fd_dump_part part, fd_span *text)
{
    fd_bytes_in *in = &parts->in;
    *text = (fd_span){NULL, NULL};
    if (part.size == 0) {
        return FD_OK;
    }
    fd_status status = fd_bytes_in_seek(in, part.at);
    while (status == FD_OK && (size_t)(in->end - in->at) < part.size
           && fd_bytes_in_more(in)) {
    }
    if (status == FD_OK && in->status != FD_OK) {
        status = in->status;
    }
    size_t there = (size_t)(in->end - in->at);
    *text =
        (fd_span){in->at, in->at + (there < part.size ? there : part.size)};
    return status;
}
