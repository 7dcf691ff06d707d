/* The packets of a native trace before its events: its origin, and snapshots of
 * the clock of a sequence and the clock of the trace; several if it drifts. */
#ifndef FD_PERFETTO_PREAMBLE_H
#define FD_PERFETTO_PREAMBLE_H

#include "base/buffer.h"
#include "clocks/clock_steps.h"

enum { FD_PERFETTO_STEP_NS = 1000, FD_PERFETTO_READINGS = 3 };

typedef struct fd_perfetto_clock {
    fd_clock_map map; /* from an input's times to boot time */
    int64_t step_ns;  /* that a drifting one may be off */
    bool has_base;
    int64_t base_ns; /* the real time of boot time 0 */
} fd_perfetto_clock;

/* The largest error of a drifting clock between two snapshots. */
static inline int64_t
fd_perfetto_step(int64_t uncertainty_ns)
{
    return uncertainty_ns > 0 && uncertainty_ns < FD_PERFETTO_STEP_NS
             ? uncertainty_ns
             : FD_PERFETTO_STEP_NS;
}

typedef struct fd_perfetto_reading {
    uint32_t clock;
    int64_t time;
} fd_perfetto_reading;

/* The origin of merges and exports, for printf and scanf. */
#define FD_PERFETTO_MERGE "fastdispatch: %u files"
#define FD_PERFETTO_EXPORT "fastdispatch: rank %u of %u"

/* Append the packet with the origin. */
void fd_perfetto_origin(fd_buffer *to, const char *text);

/* Append the packet that begins a sequence. Its events have incremental times
 * and, where they say no other, are of the track; 0: none. */
void fd_perfetto_sequence(fd_buffer *to, uint32_t sequence, uint64_t track);

/* Append the packet that says what clocks, up to FD_PERFETTO_READINGS, show at
 * one moment. Readers use only snapshots of the same clocks together. */
void fd_perfetto_snapshot(fd_buffer *to, uint32_t sequence,
                          const fd_perfetto_reading *readings, int count);

/* The incremental clock of a sequence: it counts as the input's did, and
 * snapshots say what that is for all. */
typedef struct fd_perfetto_ticks {
    const fd_perfetto_clock *clock; /* borrowed */
    uint32_t sequence;
    int64_t zero; /* the input's time where it shows 0 */
    int64_t last; /* of the packet before */
    fd_clock_steps steps;
} fd_perfetto_ticks;

/* Append the first snapshot, which is exact at `first`. */
void fd_perfetto_ticks_begin(fd_perfetto_ticks *ticks,
                             const fd_perfetto_clock *clock, uint32_t sequence,
                             int64_t first, fd_buffer *to);

/* Append another if the offset is another at this time. */
void fd_perfetto_ticks_step(fd_perfetto_ticks *ticks, int64_t time,
                            fd_buffer *to);

/* The timestamp of the next packet. Times ascend: an earlier time, of a malformed
 * file, is replaced by the last one. */
static inline uint64_t
fd_perfetto_ticks_pass(fd_perfetto_ticks *ticks, int64_t time, fd_buffer *to)
{
    time = time > ticks->last ? time : ticks->last;
    if (time >= ticks->steps.next_change) {
        fd_perfetto_ticks_step(ticks, time, to);
    }
    uint64_t passed = (uint64_t)time - (uint64_t)ticks->last;
    ticks->last = time;
    return passed;
}

#endif
