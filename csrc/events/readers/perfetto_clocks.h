/* The clocks of a native trace, related by clock snapshots, and the conversion
 * of their times to boot time:
 *
 *     sequence: 64, incremental ──> trace: 128 ... ──> boot time
 *
 * A snapshot applies until the next one of its clock, as in Perfetto; all
 * snapshots may precede the events. */
#ifndef FD_PERFETTO_CLOCKS_H
#define FD_PERFETTO_CLOCKS_H

#include "base/vector.h"
#include "streams/protobuf.h"

/* The clock had the value `at` when its reference clock had the
 * value `other`. */
typedef struct fd_perfetto_clock_pair {
    int64_t at;
    int64_t other;
} fd_perfetto_clock_pair;

typedef struct fd_perfetto_clock_of {
    uint32_t id;
    uint32_t by; /* the reference clock: boot time, or another clock of the
                  * trace if this one belongs to a sequence */
    bool incremental;
    int64_t unit;
    int64_t now; /* current value of an incremental clock */
    /* ascending; only the last one of an incremental clock */
    FD_VECTOR(fd_perfetto_clock_pair) pairs;
} fd_perfetto_clock_of;

typedef FD_VECTOR(fd_perfetto_clock_of) fd_perfetto_clocks;

void fd_perfetto_clocks_clear(fd_perfetto_clocks *clocks);

/* Read a snapshot. `own` has the clocks of its sequence; NULL: unknown. The
 * first snapshot with boot time and real time sets `base_ns`, the real time of
 * boot time 0. */
fd_status fd_perfetto_clocks_snapshot(fd_perfetto_clocks *all,
                                      fd_perfetto_clocks *own,
                                      const fd_proto_field *message,
                                      bool *has_base, int64_t *base_ns);

/* Convert a time of a clock to boot time; an incremental clock advances to it.
 * Return false if no snapshot relates the clock to boot time. */
bool fd_perfetto_clocks_boot(fd_perfetto_clocks *all, fd_perfetto_clocks *own,
                             uint32_t id, int64_t value, int64_t *time);

#endif
