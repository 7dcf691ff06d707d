/* The packets of one sequence of a native trace: descriptors of tracks,
 * interned texts, events. */
#ifndef FD_PERFETTO_PACKETS_H
#define FD_PERFETTO_PACKETS_H

#include "clocks/clock_map.h"
#include "trace/interned_texts.h"

typedef struct fd_perfetto_writer fd_perfetto_writer;

/* Numbers of events that were changed or skipped. */
typedef struct fd_perfetto_counts {
    uint64_t aside;   /* overlapping slices, moved to another lane */
    uint64_t crossed; /* slices ended early with the slice around them */
    uint64_t alone;   /* ends without a begin, skipped */
    uint64_t skipped; /* skipped events that have no native form */
    uint64_t early;   /* skipped events before time 0 */
} fd_perfetto_counts;

/* The next unused ids. */
typedef struct fd_perfetto_spare {
    uint32_t track;
    uint32_t sequence;
} fd_perfetto_spare;

enum { FD_PERFETTO_STEP_NS = 1000 };

typedef struct fd_perfetto_clock {
    fd_clock_map map; /* from times of the input to boot time */
    int64_t step_ns;  /* maximum error of a drifting clock */
    bool has_base;
    int64_t base_ns; /* the real time of boot time 0 */
} fd_perfetto_clock;

/* Return the largest permitted error of a drifting clock between two
 * snapshots. */
static inline int64_t
fd_perfetto_step(int64_t uncertainty_ns)
{
    return uncertainty_ns > 0 && uncertainty_ns < FD_PERFETTO_STEP_NS
             ? uncertainty_ns
             : FD_PERFETTO_STEP_NS;
}

/* A sequence has its own interned texts and incremental clock: it counts times
 * of the input, and snapshots relate it to the time of the trace. */
typedef struct fd_native_packets {
    fd_buffer *to; /* borrowed */
    uint32_t sequence;
    uint32_t track; /* default track of events, which is not written again; 0:
                     * no default */
    const fd_perfetto_clock *clock; /* borrowed */
    int64_t zero;                   /* time of the input when its clock is 0 */
    int64_t last;                   /* time of the previous packet */
    fd_clock_steps steps;
} fd_native_packets;

/* Begin a sequence. */
void fd_native_begin(fd_native_packets *packets);

/* Write the first snapshot of the clock, exact at `first`. If the clock
 * drifts, more snapshots are written before later events. */
void fd_native_begin_clock(fd_native_packets *packets,
                           const fd_perfetto_clock *clock, int64_t first);

/* A field of the descriptor of a track: a text, or a number if `text` is
 * absent. */
typedef struct fd_native_field {
    uint32_t field; /* 0: it is not written */
    uint64_t number;
    fd_span text;
} fd_native_field;

/* Write the descriptor of a track, with the fields of its process or thread
 * (`kind`), or for kind 0 its own fields. */
void fd_native_put_track(fd_native_packets *packets, uint32_t track,
                         uint32_t kind, const fd_native_field *fields,
                         size_t count);

/* Write interned texts with their ids. */
void fd_native_put_texts(fd_native_packets *packets, uint32_t field,
                         const fd_text_pool *pool);

/* Write an event with the fields of `body`. Type 0: the body has the type. Times
 * ascend; an earlier time (of a malformed file) is replaced by the last one. */
void fd_native_put_event(fd_native_packets *packets, uint32_t type,
                         uint32_t track, int64_t time, fd_span body);

#endif
