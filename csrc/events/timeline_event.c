#include "events/timeline_event.h"

#include <string.h>

fd_span
fd_timeline_argument_text(const fd_timeline_event *event, const char *name)
{
    fd_span value;
    bool found =
        event->args.from != NULL && fd_scan_find(event->args, name, &value);
    return found ? fd_span_inside(value) : (fd_span){NULL, NULL};
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
