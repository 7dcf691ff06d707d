#include "clocks/clock_map.h"

#include <math.h>

typedef __int128 wide;

static const wide TRILLION = 1000000000000;

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

static int64_t
wanted_step(const fd_clock_steps *s, int64_t moment)
{
    int64_t offset;
    return __builtin_sub_overflow(fd_clock_apply(&s->map, moment), moment,
                                  &offset)
             ? s->offset_ns
             : offset;
}

/* Round to an integer; saturates. */
static int64_t
rounded_time(double ns)
{
    return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : llrint(ns);
}

/* Set the time when the error of the offset will reach a step; the error is
 * `off` now. */
static void
set_next_change(fd_clock_steps *s, int64_t moment, int64_t off)
{
    double drift = fabs((double)s->map.drift_ppt) * 1e-12;
    double capacity = fabs((double)s->step_ns) - fabs((double)off);
    double later = drift > 0 ? (double)moment + capacity / drift : INFINITY;
    s->next_change = capacity > 0 ? rounded_time(later) : moment;
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
