#include "events/timeline_event.h"

#include <string.h>

void
fd_timeline_put_id(uint64_t id, fd_buffer *to)
{
    static const char digits[] = "0123456789abcdef";
    char text[20];
    size_t at = sizeof text;
    text[--at] = '"';
    do {
        text[--at] = digits[id & 15];
        id >>= 4;
    } while (id > 0);
    text[--at] = 'x';
    text[--at] = '0';
    text[--at] = '"';
    fd_buffer_bytes(to, text + at, sizeof text - at);
}

bool
fd_timeline_find(const fd_timeline_event *event, const char *name,
                 fd_span *value)
{
    fd_span args = event->args;
    return args.from != NULL && fd_scan_find(args, name, value);
}

fd_span
fd_timeline_argument_text(const fd_timeline_event *event, const char *name)
{
    fd_span value;
    return fd_timeline_find(event, name, &value) ? fd_span_inside(value)
                                                 : (fd_span){NULL, NULL};
}

bool
fd_timeline_argument(const fd_timeline_event *event, const char *name,
                     uint64_t *number)
{
    fd_span text = fd_timeline_argument_text(event, name);
    return text.from != NULL && fd_span_u64(text, number);
}

bool
fd_timeline_interval(const fd_timeline_event *event, int64_t *begin_ns,
                     int64_t *end_ns)
{
    *begin_ns = event->start;
    return event->phase == 'X' && event->has_start && event->has_duration
        && event->duration >= 0
        && !__builtin_add_overflow(event->start, event->duration, end_ns);
}

bool
fd_span_numbered(fd_span text, const char *prefix, const char *ends,
                 uint64_t *number)
{
    size_t size = strlen(prefix);
    if (fd_span_size(text) <= size || memcmp(text.from, prefix, size) != 0) {
        return false;
    }
    fd_span digits = {text.from + size, text.from + size};
    while (digits.to < text.to && *digits.to >= '0' && *digits.to <= '9') {
        digits.to++;
    }
    return fd_span_u64(digits, number)
        && (digits.to == text.to || strchr(ends, *digits.to) != NULL);
}
