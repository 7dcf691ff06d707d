/* A drifting correction as steps, for traces whose clock snapshots have a
 * constant offset until the next one.
 *
 *     offset   │      ┌───        from one to the next at most `step_ns`
 *              │   ┌──┘ ⋰
 *              │┌──┘ ⋰            drift
 *              └───────────► own time
 *
 * A step down is at most the time since the moment before, so that the order
 * of moments does not change. */
#ifndef FD_CLOCK_STEPS_H
#define FD_CLOCK_STEPS_H

#include "clocks/clock_fit.h"

typedef struct fd_clock_steps {
    fd_clock_map map;
    int64_t step_ns;
    int64_t offset_ns; /* to add to an own time, since the last change */
    int64_t last;      /* the moment before */
    int64_t due;       /* from here on another offset may be necessary */
} fd_clock_steps;

/* At `first` the offset is exact; of moments from then on less than `step_ns`
 * and one off. */
fd_clock_steps fd_clock_steps_begin(const fd_clock_map *map, int64_t step_ns,
                                    int64_t first);

/* Moments go up from call to call; those below `due` can be skipped, except
 * for the last before it, in `last`. True: the offset has changed. */
bool fd_clock_steps_change(fd_clock_steps *steps, int64_t moment);

#endif
