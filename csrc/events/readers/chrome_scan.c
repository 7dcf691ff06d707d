#include "events/readers/chrome_scan.h"

#include "json/decimal.h"

#include <string.h>

enum { EXACT_DIGITS = 15, NS_DIGITS = 3 };

/* Parse a decimal number of microseconds with at most three decimals, the most
 * common form. */
static bool
plain_time(fd_span number, int64_t *ns)
{
    const char *at = number.from;
    int64_t value = 0;
    int digits = 0;
    int places = 0;
    for (; at < number.to && *at >= '0' && *at <= '9'; at++, digits++) {
        value = value * 10 + (*at - '0');
        if (digits == EXACT_DIGITS) {
            return false;
        }
    }
    if (digits == 0) {
        return false;
    }
    if (at < number.to && *at == '.') {
        for (at++; at < number.to && *at >= '0' && *at <= '9'; at++) {
            value = value * 10 + (*at - '0');
            if (++places > NS_DIGITS) {
                return false;
            }
        }
    }
    for (; places < NS_DIGITS; places++) {
        value *= 10;
    }
    *ns = value;
    return at == number.to;
}

static void
take_start(fd_timeline_event *event, fd_span value)
{
    fd_span number = fd_span_inside(value);
    event->ts = value;
    event->exact = plain_time(number, &event->start);
    event->has_start = event->exact || fd_decimal_ns(number, &event->start);
}

static void
take_duration(fd_timeline_event *event, fd_span value)
{
    fd_span number = fd_span_inside(value);
    event->dur = value;
    event->has_duration = plain_time(number, &event->duration)
                       || fd_decimal_ns(number, &event->duration);
}

/* Return the character of a string of length one, otherwise 0. */
static char
single_letter(fd_span value)
{
    fd_span inside = fd_span_inside(value);
    return fd_span_size(inside) == 1 && *value.from == '"' ? *inside.from
                                                           : '\0';
}

/* Read {"local": id} or {"global": id}. */
static bool
take_id2(fd_timeline_event *event, fd_span object)
{
    bool local = fd_scan_find(object, "local", &event->local_id);
    return fd_scan_find(object, "global", &event->global_id) || local;
}

/* Read a member whose key has two letters. */
static bool
take_pair(fd_timeline_event *event, const char *k, fd_span value)
{
    if (k[0] == 'p' && k[1] == 'h') {
        event->phase = single_letter(value);
        return event->phase != '\0';
    }
    if (k[0] == 't' && k[1] == 's') {
        take_start(event, value);
        return true;
    }
    if (k[0] == 'i' && k[1] == 'd') {
        event->id = value;
        return true;
    }
    event->encloses = k[0] == 'b' && k[1] == 'p' && fd_span_is(value, "\"e\"");
    return event->encloses;
}

/* Read a member whose key has three letters. */
static bool
take_triple(fd_timeline_event *event, const char *k, fd_span value)
{
    if (memcmp(k, "dur", 3) == 0) {
        take_duration(event, value);
    }
    else if (memcmp(k, "pid", 3) == 0) {
        event->pid = value;
    }
    else if (memcmp(k, "tid", 3) == 0) {
        event->tid = value;
    }
    else if (memcmp(k, "cat", 3) == 0) {
        event->cat = value;
    }
    else {
        return memcmp(k, "id2", 3) == 0 && take_id2(event, value);
    }
    return true;
}

/* Store a member that has a field in the struct; return false for other
 * members. */
static bool
take_member(fd_timeline_event *event, fd_span key, fd_span value)
{
    const char *k = key.from;
    switch (fd_span_size(key)) {
    case 1:
        event->scope = *k == 's' ? single_letter(value) : event->scope;
        return *k == 's' && event->scope != '\0';
    case 2:
        return take_pair(event, k, value);
    case 3:
        return take_triple(event, k, value);
    case 4:
        if (memcmp(k, "name", 4) == 0) {
            event->name = value;
            return true;
        }
        if (memcmp(k, "args", 4) == 0) {
            event->args = value;
            return true;
        }
        return false;
    case 7:
        if (memcmp(k, "bind_id", 7) == 0) {
            event->bind_id = value;
            return true;
        }
        return memcmp(k, "flow_in", 7) == 0
            && (event->flow_in = fd_span_is(value, "true"));
    case 8:
        return memcmp(k, "flow_out", 8) == 0
            && (event->flow_out = fd_span_is(value, "true"));
    default:
        return false;
    }
}

fd_scan_result
fd_chrome_scan(fd_scan *scan, fd_timeline_event *event, fd_buffer *rest)
{
    bool first = true;
    rest->size = 0;
    *event = (fd_timeline_event){.phase = 0};
    fd_scan_result result = fd_scan_mark(scan, '{');
    while (result == FD_SCAN_OK) {
        fd_span key;
        result = fd_scan_member(scan, first, &key);
        if (result == FD_SCAN_OK) {
            const char *from = scan->at;
            first = false;
            result = fd_scan_value(scan);
            if (result == FD_SCAN_OK
                && !take_member(event, key, (fd_span){from, scan->at})) {
                fd_buffer_text(rest, ",");
                fd_buffer_bytes(rest, key.from - 1,
                                (size_t)(scan->at - (key.from - 1)));
            }
        }
    }
    if (rest->size > 0) {
        event->rest = fd_span_of(rest);
    }
    result = result == FD_SCAN_DONE ? FD_SCAN_OK : result;
    return rest->status == FD_OK ? result : FD_SCAN_ENOMEM;
}
