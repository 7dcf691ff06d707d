/* Corrections between two clocks: offset and drift. Python finds them
 * (read/clock_alignment.py). No I/O, no clock is read.
 *
 *     corrected = own + offset + drift * (own - at)
 */
#ifndef FD_CLOCK_MAP_H
#define FD_CLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum { FD_CLOCK_UNKNOWN = -1 /* value of an uncertainty */ };

typedef struct fd_clock_map {
    int64_t at_ns;
    int64_t offset_ns;
    int64_t drift_ppt; /* 10^-12: ns in 1000 s */
} fd_clock_map;

/* The correction of a rank: from its clock to the common clock. */
typedef struct fd_rank_clock {
    fd_clock_map map;
    char method[12];        /* docs/concepts/clocks.md */
    int64_t uncertainty_ns; /* or FD_CLOCK_UNKNOWN */
    bool has_residual;
    int64_t residual_ns; /* difference from the best other method */
    uint64_t violations; /* number of effects earlier than their causes */
} fd_rank_clock;

/* Apply a map to a time; saturates on overflow. */
int64_t fd_clock_apply(const fd_clock_map *map, int64_t ns);

/* A drifting correction as steps, for traces whose clock snapshots have a
 * constant offset until the next one.
 *
 *     offset   │      ┌───        steps of at most `step_ns`
 *              │   ┌──┘ ⋰
 *              │┌──┘ ⋰            drift
 *              └───────────► own time
 *
 * A step down is at most the time since the previous event, so that the order
 * of events does not change. */

typedef struct fd_clock_steps {
    fd_clock_map map;
    int64_t step_ns;
    int64_t offset_ns;   /* to add to an own time, since the last change */
    int64_t last;        /* time of the previous event */
    int64_t next_change; /* the offset does not change before this time */
} fd_clock_steps;

/* Begin the steps. The offset is exact at `first`, and later its error is less
 * than `step_ns` + 1. */
fd_clock_steps fd_clock_steps_begin(const fd_clock_map *map, int64_t step_ns,
                                    int64_t first);

/* Update the offset for the time of the next event; times must not decrease.
 * Return true if the offset has changed. Calls before `next_change` can be
 * skipped if the caller stores the latest of their times in `last`. */
bool fd_clock_steps_change(fd_clock_steps *steps, int64_t moment);

#endif
