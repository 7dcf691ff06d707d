#include "trace/reader/recording_reading.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

/* The peak of a device, and its latest failed allocation. */
typedef struct device_peak {
    uint32_t device;
    uint64_t bytes;
    uint64_t refused; /* its number; 0: none */
    uint64_t step;
} device_peak;

/* The peaks of memory by device. */
typedef struct peaks {
    device_peak list[MOST_DEVICES];
    uint32_t count;
} peaks;

/* Return the peak of a device, or one of 0 bytes. */
static device_peak
peak_of(const peaks *of, uint32_t device)
{
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->list[i].device == device) {
            return of->list[i];
        }
    }
    return (device_peak){.device = device};
}

/* Note the peak of a device, and its latest failed allocation. Devices beyond
 * the bound, which no writer uses, have neither. */
static void
note_memory(peaks *to, const fd_measure *from)
{
    if (from->kind != FD_MEASURE_PEAK && from->kind != FD_MEASURE_REFUSED) {
        return;
    }
    uint32_t i = 0;
    while (i < to->count && to->list[i].device != from->detail) {
        i++;
    }
    if (i == MOST_DEVICES) {
        return;
    }
    if (i == to->count) {
        to->list[to->count++] = (device_peak){.device = from->detail};
    }
    device_peak *at = &to->list[i];
    if (from->kind == FD_MEASURE_PEAK && from->max > at->bytes) {
        at->bytes = from->max;
    }
    if (from->kind == FD_MEASURE_REFUSED && from->mark > at->refused) {
        at->refused = from->mark;
        at->step = from->now;
    }
}

static double
double_in(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Convert live bytes at the ends of n steps to their slope per step (sum) and
 * its standard error (other). */
static void
read_slope(fd_trace_measure *to, const fd_measure *from)
{
    double n = (double)from->count;
    double mean = (double)from->sum / n;
    double spread = n * (n * n - 1) / 12;
    double slope =
        n < 3 ? 0
              : (double_in(from->other) - (n - 1) / 2 * (double)from->sum)
                    / spread;
    double rest = double_in(from->mark) - mean * (double)from->sum
                - slope * slope * spread;
    to->sum = fd_reading_whole(slope);
    to->other = n < 3 || !(rest > 0)
                  ? 0
                  : fd_reading_whole(sqrt(rest / (n - 2) / spread));
    to->max = from->count;
    to->count = 1;
}

/* Read figures of memory, with sums at the peak. Return false if they are to
 * be skipped. */
static bool
read_memory(fd_reading *r, const device_peak *of, const fd_measure *from,
            fd_trace_measure *to)
{
    uint64_t peak = of->bytes;
    switch (from->kind) {
    case FD_MEASURE_ALLOCATED:
    case FD_MEASURE_FREED:
        to->other = from->mark == peak ? from->other : from->sum;
        return true;
    case FD_MEASURE_PEAK_FREED:
        return from->mark == peak;
    case FD_MEASURE_PEAK:
        to->context = fd_reading_context(r, from->link);
        return from->max == peak;
    case FD_MEASURE_REFUSED:
        to->context = fd_reading_context(r, from->link);
        to->count = from->mark;
        return from->mark != 0 && from->mark == of->refused;
    case FD_MEASURE_HELD:
        return false; /* made by add_held */
    case FD_MEASURE_KEPT:
        if (from->count > 0) {
            read_slope(to, from);
        }
        return from->count > 0;
    default:
        return true;
    }
}

/* Add what a record of allocated blocks held at the latest failed
 * allocation. */
static void
add_held(fd_reading *r, const device_peak *of, const fd_measure *from,
         fd_trace_measure to)
{
    if (from->kind == FD_MEASURE_ALLOCATED && from->now != 0
        && of->refused != 0) {
        to.kind = FD_MEASURE_HELD;
        to.count = 1;
        to.sum = from->now;
        to.max = of->step;
        to.other = 0;
        fd_reading_push(r, &r->rank->measures, to);
    }
}

static bool
is_empty(const fd_trace_measure *measure)
{
    return measure->context == 0 || measure->kind == 0
        || measure->kind >= FD_MEASURE_KINDS
        || (measure->count == 0
            && (measure->kind == FD_MEASURE_LATEST
                || (measure->sum == 0 && measure->other == 0
                    && measure->max == 0)));
}

static void
read_measure(fd_reading *r, const peaks *all, const fd_measure *from)
{
    const device_peak of = peak_of(all, from->detail);
    fd_trace_measure made = {
        .context = fd_reading_context(r, from->context),
        .kind = from->kind,
        .flags = from->flags,
        .count = from->count,
        .sum = from->sum,
        .max = from->max,
        .other = from->other,
    };
    if (!read_memory(r, &of, from, &made) || is_empty(&made)) {
        return;
    }
    if (made.kind == FD_MEASURE_STEPS) {
        made.sum = fd_reading_ns(r, made.sum);
        made.max = fd_reading_ns(r, made.max);
    }
    if (made.kind == FD_MEASURE_LATEST) {
        made.sum = fd_reading_since_start(r, made.sum);
        made.max = fd_reading_since_start(r, made.max);
    }
    made.detail = fd_reading_text(r, from->detail, 0);
    fd_reading_push(r, &r->rank->measures, made);
    add_held(r, &of, from, made);
}

void
fd_read_measures(fd_reading *r)
{
    peaks of = {.count = 0};
    FOR_EACH_RECORD (r, FD_CHUNK_MEASURES, fd_measure, measure) {
        note_memory(&of, measure);
    }
    FOR_EACH_RECORD (r, FD_CHUNK_MEASURES, fd_measure, measure) {
        read_measure(r, &of, measure);
    }
    fd_measures_fold(r->rank);
}
