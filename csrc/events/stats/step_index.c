#include "events/stats/step_index.h"

bool
fd_timeline_is_step(const fd_timeline_event *event, uint64_t *number,
                    int64_t *begin_ns, int64_t *end_ns)
{
    if (event->phase != 'X' || event->name.from == NULL) {
        return false;
    }
    fd_span name = fd_span_inside(event->name);
    bool ours = event->cat.from != NULL && fd_span_is(event->cat, "\"step\"")
             && fd_span_numbered(name, "step ", " ", number);
    return (ours || fd_span_numbered(name, "ProfilerStep#", " ", number))
        && fd_timeline_interval(event, begin_ns, end_ns);
}
