#include "events/stats/gpu_facts.h"

#include "json/decimal.h"

static int64_t
whole_number(fd_span value)
{
    uint64_t number;
    return value.from != NULL && fd_decimal_whole(value, &number)
                && number <= INT64_MAX
             ? (int64_t)number
             : FD_NO_STREAM;
}

void
fd_gpu_facts_read(const fd_timeline_event *event, fd_gpu_facts *facts)
{
    static const char *const names[] = {"correlation", "device",
                                        "stream",      "sycl queue",
                                        "Stream Id",   "correlation_id"};
    fd_span values[sizeof names / sizeof *names];
    fd_span args = event->args;
    *facts = (fd_gpu_facts){.correlation = FD_NO_CORRELATION,
                            .device = FD_NO_STREAM,
                            .stream = FD_NO_STREAM};
    if (args.from == NULL
        || !fd_scan_members(args, names, sizeof names / sizeof *names,
                            values)) {
        return;
    }
    int64_t correlation = whole_number(values[values[0].from != NULL ? 0 : 5]);
    facts->correlation =
        correlation >= 0 ? (uint64_t)correlation : FD_NO_CORRELATION;
    facts->device = whole_number(values[1]);
    for (size_t i = 2; i < 5 && facts->stream == FD_NO_STREAM; i++) {
        facts->stream = whole_number(values[i]);
    }
}
