#include "clocks/clock_fit.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>

typedef __int128 wide;

static const wide TRILLION = 1000000000000;

enum { SEARCH_STEPS = 80 };

static int64_t
saturate_time(wide value)
{
    return value > INT64_MAX ? INT64_MAX
         : value < INT64_MIN ? INT64_MIN
                             : (int64_t)value;
}

/* Apply a drift, rounded to nearest, symmetric around 0. */
static wide
drifted_time(const fd_clock_map *map, int64_t ns)
{
    if (map->drift_ppt == 0) {
        return 0;
    }
    wide product = ((wide)ns - map->at_ns) * map->drift_ppt;
    return (product + (product < 0 ? -TRILLION / 2 : TRILLION / 2)) / TRILLION;
}

int64_t
fd_clock_apply(const fd_clock_map *map, int64_t ns)
{
    return saturate_time((wide)ns + map->offset_ns + drifted_time(map, ns));
}

fd_clock_map
fd_clock_compose(const fd_clock_map *inner, const fd_clock_map *outer)
{
    int64_t between = fd_clock_apply(inner, inner->at_ns);
    wide both = (wide)inner->drift_ppt * outer->drift_ppt / TRILLION;
    return (fd_clock_map){
        .at_ns = inner->at_ns,
        .offset_ns =
            saturate_time((wide)fd_clock_apply(outer, between) - inner->at_ns),
        .drift_ppt =
            saturate_time(both + inner->drift_ppt + outer->drift_ppt)};
}

int64_t
fd_clock_round(double ns)
{
    return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : llrint(ns);
}

double
fd_clock_between(int64_t a, int64_t b)
{
    return (double)((wide)a - b);
}

static int64_t
slope_ppt(double slope)
{
    double most = FD_CLOCK_MOST_DRIFT_PPM * 1e6;
    double ppt = slope * 1e12;
    return fd_clock_round(ppt > most ? most : ppt < -most ? -most : ppt);
}

/* Return half the round-trip time; negative for an invalid ping. */
static double
half_trip(const fd_clock_ping *ping)
{
    return fd_clock_between(ping->received, ping->sent) / 2;
}

static const fd_clock_ping *
fastest_ping(const fd_clock_ping *pings, size_t count, int64_t from,
             int64_t to)
{
    const fd_clock_ping *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (pings[i].sent >= from && pings[i].sent <= to
            && half_trip(&pings[i]) >= 0
            && (best == NULL || half_trip(&pings[i]) < half_trip(best))) {
            best = &pings[i];
        }
    }
    return best;
}

static int64_t
middle_of(const fd_clock_ping *ping)
{
    return saturate_time(((wide)ping->sent + ping->received) / 2);
}

bool
fd_clock_fit_pings(const fd_clock_ping *pings, size_t count, fd_clock_fit *fit)
{
    int64_t from = INT64_MAX;
    int64_t to = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        from = pings[i].sent < from ? pings[i].sent : from;
        to = pings[i].sent > to ? pings[i].sent : to;
    }
    int64_t half = saturate_time(((wide)from + to) / 2);
    bool sloped = count > 0 && fd_clock_between(to, from) >= FD_CLOCK_SPAN_NS;
    const fd_clock_ping *first =
        fastest_ping(pings, count, from, sloped ? half : to);
    const fd_clock_ping *last =
        sloped ? fastest_ping(pings, count, half, to) : NULL;
    if (first == NULL) {
        first = last;
        last = NULL;
    }
    if (first == NULL) {
        return false;
    }
    int64_t at = middle_of(first);
    double slope = 0;
    double off = half_trip(first);
    if (last != NULL && middle_of(last) > at) {
        slope = (fd_clock_between(last->replied, first->replied)
                 - fd_clock_between(middle_of(last), at))
              / fd_clock_between(middle_of(last), at);
        off = half_trip(last) > off ? half_trip(last) : off;
    }
    fit->map = (fd_clock_map){at, saturate_time((wide)first->replied - at),
                              slope_ppt(slope)};
    fit->uncertainty_ns = fd_clock_round(ceil(off));
    return true;
}

/* The feasible interval of offsets for a given slope, at the first bound. */
typedef struct opening {
    const fd_clock_bound *bounds;
    size_t count;
    double low;
    double high;
} opening;

static void
open_at(opening *o, double slope)
{
    const fd_clock_bound *first = &o->bounds[0];
    o->low = -INFINITY;
    o->high = INFINITY;
    for (size_t i = 0; i < o->count; i++) {
        const fd_clock_bound *bound = &o->bounds[i];
        double at = fd_clock_between(bound->own, first->own);
        double value =
            fd_clock_between(bound->other, first->other) - at - slope * at;
        if (bound->earlier) {
            o->high = value < o->high ? value : o->high;
        }
        else {
            o->low = value > o->low ? value : o->low;
        }
    }
}

/* Return the slope with the widest interval; the width is a concave function
 * of the slope. */
static double
widest_slope(opening *o)
{
    double low = -FD_CLOCK_MOST_DRIFT_PPM * 1e-6;
    double high = -low;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double a = low + (high - low) / 3;
        double b = high - (high - low) / 3;
        open_at(o, a);
        double width = o->high - o->low;
        open_at(o, b);
        if (width < o->high - o->low) {
            low = a;
        }
        else {
            high = b;
        }
    }
    return (low + high) / 2;
}

static double
span_of(const fd_clock_bound *bounds, size_t count)
{
    double low = 0;
    double high = 0;
    for (size_t i = 0; i < count; i++) {
        double at = fd_clock_between(bounds[i].own, bounds[0].own);
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    return high - low;
}

fd_status
fd_clock_fit_bounds(const fd_clock_bound *bounds, size_t count,
                    fd_clock_fit *fit)
{
    opening o = {.bounds = bounds, .count = count};
    size_t earlier = 0;
    for (size_t i = 0; i < count; i++) {
        earlier += bounds[i].earlier;
    }
    if (earlier == 0 || earlier == count) {
        return FD_EINVAL;
    }
    bool sloped = span_of(bounds, count) >= FD_CLOCK_SPAN_NS;
    double slope = sloped ? widest_slope(&o) : 0;
    open_at(&o, slope);
    wide offset = (wide)bounds[0].other - bounds[0].own
                + fd_clock_round((o.low + o.high) / 2);
    fit->map =
        (fd_clock_map){bounds[0].own, saturate_time(offset), slope_ppt(slope)};
    fit->uncertainty_ns = fd_clock_round(ceil(fabs(o.high - o.low) / 2));
    return FD_OK;
}

FD_ORDER_OF(by_value, double)

double
fd_clock_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, by_value);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

/* The slope is the median slope between points that are count / 2 apart. */
fd_clock_line
fd_clock_median_line(const fd_clock_point *points, size_t count, bool sloped,
                     double *scratch)
{
    fd_clock_line line = {0, 0};
    size_t half = count / 2;
    size_t slopes = 0;
    for (size_t i = 0; sloped && i + half < count; i++) {
        const fd_clock_point *a = &points[i];
        const fd_clock_point *b = &points[i + half];
        if (b->at > a->at) {
            scratch[slopes++] = (b->value - a->value) / (b->at - a->at);
        }
    }
    line.slope = slopes > 0 ? fd_clock_median(scratch, slopes) : 0;
    for (size_t i = 0; i < count; i++) {
        scratch[i] = points[i].value - line.slope * points[i].at;
    }
    line.value = fd_clock_median(scratch, count);
    return line;
}

/* Return whether `b` lies on or above the line from `a` to `c`. */
static bool
is_above(const fd_clock_point *a, const fd_clock_point *b,
         const fd_clock_point *c)
{
    return (b->value - a->value) * (c->at - a->at)
        >= (c->value - a->value) * (b->at - a->at);
}

static size_t
lower_hull(fd_clock_point *points, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        while (kept >= 2
               && is_above(&points[kept - 2], &points[kept - 1], &points[i])) {
            kept--;
        }
        points[kept++] = points[i];
    }
    return kept;
}

/* The nearest line below all points is the edge of their lower hull at the
 * mean of their times. */
fd_clock_line
fd_clock_lower_line(fd_clock_point *points, size_t count, bool sloped)
{
    double mean = 0;
    fd_clock_line line = {points[0].value, 0};
    for (size_t i = 0; i < count; i++) {
        mean += points[i].at / (double)count;
        line.value =
            points[i].value < line.value ? points[i].value : line.value;
    }
    size_t kept = sloped ? lower_hull(points, count) : 0;
    for (size_t i = 1; i < kept; i++) {
        const fd_clock_point *a = &points[i - 1];
        const fd_clock_point *b = &points[i];
        if (b->at >= mean && b->at > a->at) {
            line.slope = (b->value - a->value) / (b->at - a->at);
            line.value = a->value - line.slope * a->at;
            break;
        }
    }
    return line;
}

static int64_t
wanted_step(const fd_clock_steps *s, int64_t moment)
{
    int64_t offset;
    return __builtin_sub_overflow(fd_clock_apply(&s->map, moment), moment,
                                  &offset)
             ? s->offset_ns
             : offset;
}

/* Set the time when the error of the offset will reach a step; the error is
 * `off` now. */
static void
set_next_change(fd_clock_steps *s, int64_t moment, int64_t off)
{
    double drift = fabs((double)s->map.drift_ppt) * 1e-12;
    double capacity = fabs((double)s->step_ns) - fabs((double)off);
    double later = drift > 0 ? (double)moment + capacity / drift : INFINITY;
    s->next_change = capacity > 0 ? fd_clock_round(later) : moment;
}

fd_clock_steps
fd_clock_steps_begin(const fd_clock_map *map, int64_t step_ns, int64_t first)
{
    fd_clock_steps s = {.map = *map, .step_ns = step_ns, .last = first};
    s.offset_ns = wanted_step(&s, first);
    set_next_change(&s, first, 0);
    return s;
}

bool
fd_clock_steps_change(fd_clock_steps *s, int64_t moment)
{
    int64_t passed;
    int64_t off;
    if (__builtin_sub_overflow(moment, s->last, &passed)) {
        passed = INT64_MAX;
    }
    s->last = moment;
    if (moment < s->next_change
        || __builtin_sub_overflow(wanted_step(s, moment), s->offset_ns,
                                  &off)) {
        return false;
    }
    int64_t step = off < -passed ? -passed : off;
    bool changes = step != 0 && (off >= s->step_ns || off <= -s->step_ns);
    s->offset_ns += changes ? step : 0;
    set_next_change(s, moment, changes ? off - step : off);
    return changes;
}
