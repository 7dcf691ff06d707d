/* Corrections between two clocks from their times of related events: offset,
 * drift and uncertainty. No I/O, no clock is read.
 *
 *     corrected = own + offset + drift * (own - at)
 */
#ifndef FD_CLOCK_FIT_H
#define FD_CLOCK_FIT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FD_CLOCK_UNKNOWN = -1, /* value of an uncertainty or a residual */
    FD_CLOCK_MOST_DRIFT_PPM = 500,
    FD_CLOCK_SPAN_NS = 1000000000 /* minimum time span to fit a drift */
};

typedef struct fd_clock_map {
    int64_t at_ns;
    int64_t offset_ns;
    int64_t drift_ppt; /* 10^-12: ns in 1000 s */
} fd_clock_map;

typedef struct fd_clock_fit {
    fd_clock_map map;
    int64_t uncertainty_ns;
} fd_clock_fit;

/* Apply a map to a time; saturates on overflow. */
int64_t fd_clock_apply(const fd_clock_map *map, int64_t ns);

/* Return the map that applies `inner` first, then `outer`. */
fd_clock_map fd_clock_compose(const fd_clock_map *inner,
                              const fd_clock_map *outer);

/* A round trip: sent by the own clock, replied by the other clock, received by
 * the own clock. */
typedef struct fd_clock_ping {
    int64_t sent;
    int64_t replied;
    int64_t received;
} fd_clock_ping;

/* Fit the map from the own clock to the other, by the fastest round trip of
 * each half of the time; the error is at most half of the slower one. Return
 * false without a ping that was received after it was sent. */
bool fd_clock_fit_pings(const fd_clock_ping *pings, size_t count,
                        fd_clock_fit *fit);

/* Times of two related events, of which the own one is known to be the earlier
 * or the later one. */
typedef struct fd_clock_bound {
    int64_t own;
    int64_t other;
    bool earlier;
} fd_clock_bound;

/* Fit the map from the own clock to the other: the middle of the feasible
 * interval, with half its width as uncertainty. If no offset satisfies all
 * bounds, use the one with the smallest maximum violation, which is then the
 * uncertainty. FD_EINVAL without bounds of both kinds. */
fd_status fd_clock_fit_bounds(const fd_clock_bound *bounds, size_t count,
                              fd_clock_fit *fit);

/* value + slope * at */
typedef struct fd_clock_line {
    double value;
    double slope;
} fd_clock_line;

typedef struct fd_clock_point {
    double at;
    double value;
} fd_clock_point;

/* Lines through at least one point, as a function of `at`.
 *
 * Median: as many points above as below; `scratch` has `count` entries. Lower:
 * the nearest line with no point below it; reorders the points. */
fd_clock_line fd_clock_median_line(const fd_clock_point *points, size_t count,
                                   bool sloped, double *scratch);
fd_clock_line fd_clock_lower_line(fd_clock_point *points, size_t count,
                                  bool sloped);

/* Return the median; sorts the numbers. */
double fd_clock_median(double *numbers, size_t count);

/* Return a - b, without overflow. */
double fd_clock_between(int64_t a, int64_t b);

/* Round to an integer; saturates. */
int64_t fd_clock_round(double ns);

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
