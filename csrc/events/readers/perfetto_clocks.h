/* The clocks of a native trace, as its snapshots relate them, and what their
 * times are in boot time:
 *
 *     sequence: 64, incremental ──> trace: 128 ... ──> boot time
 *
 * A snapshot applies until the next of its clock, as in Perfetto; they may
 * all come before the events. */
#ifndef FD_PERFETTO_CLOCKS_H
#define FD_PERFETTO_CLOCKS_H

#include "base/vector.h"
#include "streams/protobuf.h"

/* The clock showed `at` when its reference showed `other`. */
typedef struct fd_perfetto_clock_pair {
    int64_t at;
    int64_t other;
} fd_perfetto_clock_pair;

typedef struct fd_perfetto_clock_of {
    uint32_t id;
    uint32_t by; /* boot time; for one of a sequence also one of the trace */
    bool incremental;
    int64_t unit;
    int64_t now; /* of one that is incremental */
    FD_VECTOR(fd_perfetto_clock_pair)
    pairs; /* upwards; of an incremental one the
                                         last */
} fd_perfetto_clock_of;

typedef FD_VECTOR(fd_perfetto_clock_of) fd_perfetto_clocks;

void fd_perfetto_clocks_clear(fd_perfetto_clocks *clocks);

/* Read a snapshot. `own`: the clocks of its sequence; NULL: unknown. The first
 * snapshot with both clocks sets `base_ns`, the real time of boot time 0. */
fd_status fd_perfetto_clocks_snapshot(fd_perfetto_clocks *all,
                                      fd_perfetto_clocks *own,
                                      const fd_proto_field *message,
                                      bool *has_base, int64_t *base_ns);

/* A time of a clock in boot time; an incremental clock advances to it.
 * False: no snapshot relates them. */
bool fd_perfetto_clocks_boot(fd_perfetto_clocks *all, fd_perfetto_clocks *own,
                             uint32_t id, int64_t value, int64_t *time);

#endif
