/* From what two clocks showed at related moments to the correction between
 * them: an offset, a drift and how far off they may be. No I/O, no clock read.
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
    FD_CLOCK_UNKNOWN = -1, /* an uncertainty, a residual */
    FD_CLOCK_MOST_DRIFT_PPM = 500,
    FD_CLOCK_SPAN_NS = 1000000000 /* over less time no drift is looked for */
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

/* Saturates where the sum has no room. */
int64_t fd_clock_apply(const fd_clock_map *map, int64_t ns);

/* First `inner`, then `outer`. */
fd_clock_map fd_clock_compose(const fd_clock_map *inner,
                              const fd_clock_map *outer);

/* A request and its reply: by the own clock, the other clock, the own clock. */
typedef struct fd_clock_ping {
    int64_t sent;
    int64_t answered;
    int64_t received;
} fd_clock_ping;

/* From the own clock to the other, by the fastest round trip of either half of
 * the time; the error is at most half of the slower of the two. False without
 * a ping that was received after it was sent. */
bool fd_clock_fit_pings(const fd_clock_ping *pings, size_t count,
                        fd_clock_fit *fit);

/* Of two related moments the one on the own clock is known to be the earlier
 * one, or the later. */
typedef struct fd_clock_bound {
    int64_t own;
    int64_t other;
    bool earlier;
} fd_clock_bound;

/* From the own clock to the other: the middle of what is feasible; the
 * uncertainty is half its width. Where nothing is, the fewest nanoseconds too
 * wrong, and the uncertainty is how much that is. FD_EINVAL without bounds of
 * both kinds. */
fd_status fd_clock_fit_bounds(const fd_clock_bound *bounds, size_t count,
                              fd_clock_fit *fit);

/* Bounds that are violated when the own clock is corrected. */
size_t fd_clock_violations(const fd_clock_bound *bounds, size_t count,
                           const fd_clock_map *map);

/* value + slope * at */
typedef struct fd_clock_line {
    double value;
    double slope;
} fd_clock_line;

typedef struct fd_clock_point {
    double at;
    double value;
} fd_clock_point;

/* Points are in the order of `at`, and there is at least one.
 *
 * Median: as many points above as below; `scratch` has room for `count`.
 * Lower: no point is below, and those above are as near as can be; reorders
 * the points. */
fd_clock_line fd_clock_median_line(const fd_clock_point *points, size_t count,
                                   bool sloped, double *scratch);
fd_clock_line fd_clock_lower_line(fd_clock_point *points, size_t count,
                                  bool sloped);

/* Of numbers that are reordered. */
double fd_clock_median(double *numbers, size_t count);

/* a - b, which int64 may have no room for. */
double fd_clock_between(int64_t a, int64_t b);

/* Rounded, within int64. */
int64_t fd_clock_round(double ns);

#endif
