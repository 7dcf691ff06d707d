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
    static const char *const names[] = {
        "correlation", "correlation_id", "device",   "stream",
        "sycl queue",  "Stream Id",      "l0 queue", "queue"};
    enum { NAMES = sizeof names / sizeof *names, FIRST_STREAM = 3 };
    fd_span values[NAMES] = {{NULL, NULL}};
    if (event->args.from != NULL) {
        fd_scan_members(event->args, names, NAMES, values);
    }
    int64_t correlation = whole_number(values[values[0].from != NULL ? 0 : 1]);
    *facts =
        (fd_gpu_facts){.correlation = correlation >= 0 ? (uint64_t)correlation
                                                       : FD_NO_CORRELATION,
                       .device = whole_number(values[2]),
                       .stream = FD_NO_STREAM};
    for (size_t i = FIRST_STREAM; i < NAMES && facts->stream == FD_NO_STREAM;
         i++) {
        facts->stream = whole_number(values[i]);
    }
}
