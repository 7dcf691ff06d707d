#include "clocks/clock_steps.h"

#include <math.h>

static int64_t
wanted(const fd_clock_steps *s, int64_t moment)
{
    int64_t offset;
    return __builtin_sub_overflow(fd_clock_apply(&s->map, moment), moment,
                                  &offset)
             ? s->offset_ns
             : offset;
}

/* The time when the offset will be wrong by a whole step; it is wrong by `off`
 * now. */
static void
set_next_change(fd_clock_steps *s, int64_t moment, int64_t off)
{
    double drift = fabs((double)s->map.drift_ppt) * 1e-12;
    double room = fabs((double)s->step_ns) - fabs((double)off);
    double later = drift > 0 ? (double)moment + room / drift : INFINITY;
    s->next_change = room > 0 ? fd_clock_round(later) : moment;
}

fd_clock_steps
fd_clock_steps_begin(const fd_clock_map *map, int64_t step_ns, int64_t first)
{
    fd_clock_steps s = {.map = *map, .step_ns = step_ns, .last = first};
    s.offset_ns = wanted(&s, first);
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
        || __builtin_sub_overflow(wanted(s, moment), s->offset_ns, &off)) {
        return false;
    }
    int64_t step = off < -passed ? -passed : off;
    bool changes = step != 0 && (off >= s->step_ns || off <= -s->step_ns);
    s->offset_ns += changes ? step : 0;
    set_next_change(s, moment, changes ? off - step : off);
    return changes;
}
