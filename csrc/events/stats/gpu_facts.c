#include "events/stats/gpu_facts.h"

static int64_t
whole_number(fd_span value)
{
    uint64_t number;
    return value.from != NULL && fd_span_u64(fd_span_inside(value), &number)
                && number <= INT64_MAX
             ? (int64_t)number
             : FD_NO_STREAM;
}

void
fd_gpu_facts_read(const fd_timeline_event *event, fd_gpu_facts *facts)
{
    static const char *const names[] = {"correlation", "device", "stream"};
    fd_span values[sizeof names / sizeof *names];
    fd_span args = event->args;
    *facts = (fd_gpu_facts){.device = FD_NO_STREAM, .stream = FD_NO_STREAM};
    if (args.from == NULL
        || !fd_scan_members(args, names, sizeof names / sizeof *names,
                            values)) {
        return;
    }
    int64_t correlation = whole_number(values[0]);
    facts->correlation = correlation > 0 ? (uint64_t)correlation : 0;
    facts->device = whole_number(values[1]);
    facts->stream = whole_number(values[2]);
}
