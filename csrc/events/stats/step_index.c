#include "events/stats/step_index.h"

#include "json/decimal.h"

#include <string.h>

bool
fd_timeline_interval(const fd_timeline_event *event, int64_t *begin_ns,
                     int64_t *end_ns)
{
    int64_t duration = 0;
    return event->phase == 'X' && event->ts.from != NULL
        && event->dur.from != NULL
        && fd_decimal_ns(fd_span_inside(event->ts), begin_ns)
        && fd_decimal_ns(fd_span_inside(event->dur), &duration)
        && duration >= 0
        && !__builtin_add_overflow(*begin_ns, duration, end_ns);
}

static bool
number_behind(fd_span name, const char *prefix, uint64_t *number)
{
    size_t size = strlen(prefix);
    if (fd_span_size(name) <= size || memcmp(name.from, prefix, size) != 0) {
        return false;
    }
    fd_span digits = {name.from + size, name.from + size};
    while (digits.to < name.to && *digits.to >= '0' && *digits.to <= '9') {
        digits.to++;
    }
    return (digits.to == name.to || *digits.to == ' ')
        && fd_span_u64(digits, number);
}

bool
fd_timeline_is_step(const fd_timeline_event *event, uint64_t *number,
                    int64_t *begin_ns, int64_t *end_ns)
{
    if (event->phase != 'X' || event->name.from == NULL) {
        return false;
    }
    fd_span name = fd_span_inside(event->name);
    bool ours = event->cat.from != NULL && fd_span_is(event->cat, "\"step\"")
             && number_behind(name, "step ", number);
    return (ours || number_behind(name, "ProfilerStep#", number))
        && fd_timeline_interval(event, begin_ns, end_ns);
}
