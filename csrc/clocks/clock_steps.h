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
#ifndef FD_CLOCK_STEPS_H
#define FD_CLOCK_STEPS_H

#include "clocks/clock_fit.h"

typedef struct fd_clock_steps {
    fd_clock_map map;
    int64_t step_ns;
    int64_t offset_ns;   /* to add to an own time, since the last change */
    int64_t last;        /* previous event */
    int64_t next_change; /* no other offset is necessary before */
} fd_clock_steps;

/* The offset is exact at `first`, and less than `step_ns` + 1 off later. */
fd_clock_steps fd_clock_steps_begin(const fd_clock_map *map, int64_t step_ns,
                                    int64_t first);

/* Update for the time of the next event; times must not decrease. Returns true
 * if the offset has changed. Calls before `next_change` can be skipped if the
 * caller stores the latest of their times in `last`. */
bool fd_clock_steps_change(fd_clock_steps *steps, int64_t moment);

#endif
