#include "events/stats/gpu_facts.h"

#include "base/rows.h"

#include <string.h>

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
    static const char *const names[] = {"correlation", "device", "stream",
                                        "bytes", "memory bandwidth (GB/s)"};
    fd_span values[sizeof names / sizeof *names];
    double rate;
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
    int64_t bytes = whole_number(values[3]);
    facts->has_bytes = bytes >= 0;
    facts->bytes = bytes > 0 ? (uint64_t)bytes : 0;
    if (values[4].from != NULL
        && fd_span_double(fd_span_inside(values[4]), &rate) && rate > 0
        && rate < 1e9) {
        facts->bandwidth = (uint64_t)(rate * 1e9 + 0.5);
    }
}

uint64_t
fd_bytes_per_second(uint64_t bytes, uint64_t nanoseconds)
{
    double rate = (double)bytes * 1e9 / (double)nanoseconds + 0.5;
    return rate < 0x1p63 ? (uint64_t)rate : UINT64_MAX / 2;
}

fd_copy_kind
fd_copy_kind_of(fd_span name)
{
    static const struct {
        const char *text;
        fd_copy_kind kind;
    } kinds[] = {
        {"Memset", FD_COPY_MEMSET},       {"HtoD", FD_COPY_HTOD},
        {"DtoH", FD_COPY_DTOH},           {"DtoD", FD_COPY_DTOD},
        {"PtoP", FD_COPY_PTOP},           {"HtoH", FD_COPY_HTOH},
        {"HostToDevice", FD_COPY_HTOD},   {"DeviceToHost", FD_COPY_DTOH},
        {"DeviceToDevice", FD_COPY_DTOD}, {"PeerToPeer", FD_COPY_PTOP},
        {"FillBuffer", FD_COPY_MEMSET}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i].text);
        if (name.from != NULL
            && memmem(name.from, fd_span_size(name), kinds[i].text, size)
                   != NULL) {
            return kinds[i].kind;
        }
    }
    return FD_COPY_OTHER;
}

const char *
fd_copy_kind_name(fd_copy_kind kind)
{
    static const char *const names[FD_COPY_KINDS] = {
        "other", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset"};
    return names[kind];
}

void
fd_copies_clear(fd_copies *copies)
{
    for (uint32_t i = 0; i < copies->rows.count; i++) {
        fd_digest_clear(&copies->rows.list[i].time);
        fd_digest_clear(&copies->rows.list[i].rate);
    }
    fd_vector_clear(&copies->rows);
    fd_map_clear(&copies->row_of);
}

fd_status
fd_copies_add(fd_copies *copies, uint32_t rank, const fd_gpu_facts *facts,
              uint64_t duration)
{
    fd_copy_row *row =
        fd_row(&copies->rows, &copies->row_of,
               (uint64_t)rank << 32 | ((uint32_t)facts->copy + 1),
               &(fd_copy_row){.rank = rank, .kind = facts->copy});
    if (row == NULL || fd_digest_add(&row->time, duration) != FD_OK) {
        return FD_ENOMEM;
    }
    row->unsized += !facts->has_bytes;
    row->bytes += facts->bytes;
    if (facts->has_bytes && duration > 0) {
        row->timed_bytes += facts->bytes;
        row->timed += duration;
    }
    uint64_t rate = facts->bandwidth;
    if (rate == 0 && facts->has_bytes && duration > 0) {
        rate = fd_bytes_per_second(facts->bytes, duration);
    }
    return rate > 0 ? fd_digest_add(&row->rate, rate) : FD_OK;
}
