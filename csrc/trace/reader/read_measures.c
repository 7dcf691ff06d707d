#include "trace/reader/recording_reading.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

/* The peaks of memory by device. */
typedef struct peaks {
    struct {
        uint32_t device;
        uint64_t bytes;
    } list[MOST_DEVICES];
    uint32_t count;
} peaks;

/* Convert ticks since the start of the recording to ns. */
static uint64_t
since_start(const fd_reading *r, uint64_t tick)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    return tick > origin ? fd_reading_ns(r, tick - origin) : 0;
}

/* Return the highest peak of a device. */
static uint64_t
peak_of(const peaks *of, uint32_t device)
{
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->list[i].device == device) {
            return of->list[i].bytes;
        }
    }
    return 0;
}

/* Note the peak of a device. Devices beyond the bound, which no writer uses,
 * have no peak. */
static void
note_peak(peaks *to, const fd_measure *from)
{
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->list[i].device == from->detail) {
            to->list[i].bytes =
                from->max > to->list[i].bytes ? from->max : to->list[i].bytes;
            return;
        }
    }
    if (to->count < MOST_DEVICES) {
        to->list[to->count].device = from->detail;
        to->list[to->count++].bytes = from->max;
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
read_memory(fd_reading *r, const peaks *of, const fd_measure *from,
            fd_trace_measure *to)
{
    uint64_t peak = peak_of(of, from->detail);
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
    case FD_MEASURE_KEPT:
        if (from->count > 0) {
            read_slope(to, from);
        }
        return from->count > 0;
    default:
        return true;
    }
}

static fd_status
read_measure(fd_reading *r, const peaks *of, const fd_measure *from)
{
    fd_trace_measure made = {
        .context = fd_reading_context(r, from->context),
        .kind = from->kind,
        .flags = from->flags,
        .count = from->count,
        .sum = from->sum,
        .max = from->max,
        .other = from->other,
    };
    if (!read_memory(r, of, from, &made)) {
        return FD_OK;
    }
    if (made.context == 0 || made.kind == 0 || made.kind >= FD_MEASURE_KINDS
        || (made.count == 0
            && (made.kind == FD_MEASURE_LATEST
                || (made.sum == 0 && made.other == 0)))) {
        return FD_OK;
    }
    if (made.kind == FD_MEASURE_STEPS) {
        made.sum = fd_reading_ns(r, made.sum);
        made.max = fd_reading_ns(r, made.max);
    }
    if (made.kind == FD_MEASURE_LATEST) {
        made.sum = since_start(r, made.sum);
        made.max = since_start(r, made.max);
    }
    fd_status status = fd_reading_text(r, from->detail, 0, &made.detail);
    return fd_then(status, fd_vector_push(&r->rank->measures, made));
}

fd_status
fd_read_measures(fd_reading *r)
{
    fd_status status = FD_OK;
    peaks of = {.count = 0};
    FOR_EACH_CHUNK(r, FD_CHUNK_MEASURES, view)
    {
        const fd_measure *records = view->records;
        for (uint32_t i = 0; i < view->used; i++) {
            if (records[i].kind == FD_MEASURE_PEAK) {
                note_peak(&of, &records[i]);
            }
        }
    }
    FOR_EACH_CHUNK(r, FD_CHUNK_MEASURES, view)
    {
        const fd_measure *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = read_measure(r, &of, &records[i]);
        }
    }
    fd_measures_fold(r->rank);
    return status;
}
