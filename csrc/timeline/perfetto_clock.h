/* What a native trace is told of the clock of an input: its own time and that
 * of the merge at one moment, again and again where it drifts. */
#ifndef FD_PERFETTO_CLOCK_H
#define FD_PERFETTO_CLOCK_H

#include "analysis/clock_steps.h"
#include "base/buffer.h"

enum { FD_PERFETTO_STEP_NS = 1000, FD_PERFETTO_READINGS = 3 };

typedef struct fd_perfetto_clock {
    fd_clock_map map; /* from the input's times to those of the merge */
    int64_t step_ns;  /* that a drifting one may be off */
    bool has_base;
    int64_t base_ns; /* the real time of 0 of the merge */
} fd_perfetto_clock;

typedef struct fd_perfetto_reading {
    uint32_t clock;
    int64_t time;
} fd_perfetto_reading;

/* Append the packet that says what clocks, up to FD_PERFETTO_READINGS, show at
 * one moment. Readers use only snapshots of the same clocks together. */
void fd_perfetto_snapshot(fd_buffer *to, uint32_t sequence,
                          const fd_perfetto_reading *readings, int count);

#endif
