#include "trace/reader/recording_reading.h"

/* Ticks since the start of the recording, in ns. */
static uint64_t
since_start(const fd_reading *r, uint64_t tick)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    return tick > origin ? fd_reading_ns(r, tick - origin) : 0;
}

static fd_status
read_measure(fd_reading *r, const fd_measure *from)
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
    if (made.context == 0 || made.kind == 0 || made.kind >= FD_MEASURE_KINDS
        || (made.count == 0
            && (made.kind == FD_MEASURE_LATEST
                || (made.sum == 0 && made.other == 0)))) {
        return FD_OK;
    }
    if (made.kind == FD_MEASURE_STEPS || made.kind == FD_MEASURE_LINES) {
        made.sum = fd_reading_ns(r, made.sum);
        made.max = fd_reading_ns(r, made.max);
    }
    if (made.kind == FD_MEASURE_LATEST) {
        made.sum = since_start(r, made.sum);
        made.max = since_start(r, made.max);
    }
    fd_status status = fd_reading_text(r, from->detail, 0, &made.detail);
    return status == FD_OK ? fd_vector_push(&r->rank->measures, made) : status;
}

fd_status
fd_read_measures(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_MEASURES, view)
    {
        const fd_measure *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = read_measure(r, &records[i]);
        }
    }
    fd_measures_fold(r->rank);
    return status;
}
