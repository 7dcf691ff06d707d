#include "pipeline/planner/planner_level.h"

#include <math.h>
#include <string.h>

/* Return the larger number; fmax is not inlined. */
static inline double
larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* The values of a state during their computation. */
typedef struct row {
    uint32_t start;
    uint32_t state;
    uint32_t first; /* numbers of machines of plans within the cap: from this
                     * one */
    uint32_t last;  /* to this one */
    /* minimum number of machines that send the cut within the cap */
    uint32_t transfer;
    uint32_t low;   /* considered numbers of machines: from this one */
    uint32_t high;  /* to this one */
    uint32_t back;  /* minimum number of machines of the last stage */
    double bound;   /* longer last stages cannot improve a value; negative: no
                     * last stage can */
    double *values; /* for 1, 2, ... machines, like the next */
    fd_choice *choices;
} row;

void
fd_level_make(fd_level *level, fd_arena *arena)
{
    size_t count = level->states->count;
    size_t cells = count * level->machines;
    level->values = fd_arena_new(arena, cells, sizeof *level->values);
    level->choices = fd_arena_new(arena, cells, sizeof *level->choices);
    level->open = fd_arena_new(arena, count, sizeof *level->open);
}

static bool
is_behind(const fd_states *states, uint32_t state, uint32_t start)
{
    return start == FD_NO_STATE || fd_state_follows(states, start, state);
}

double
fd_level_compute(const fd_level *l, fd_block block)
{
    if (l->blocks == NULL) {
        return fd_state_sum(l->states->times, block);
    }
    size_t from = block.first == FD_NO_STATE ? 0 : (size_t)block.first + 1;
    return l->blocks[from * l->states->count + block.last];
}

/* Return more than the rounding error of sums of times. */
static double
time_slack(const fd_states *states)
{
    return 1e-9 * states->times[states->count - 1];
}

static double
start_time(const fd_states *states, uint32_t start)
{
    return start == FD_NO_STATE ? 0 : states->times[start];
}

static bool
has_room(const fd_level *l, fd_block block, uint32_t machines, uint32_t after)
{
    return l->costs->memory == FD_MEMORY_FREE
        || fd_stage_memory(l->costs, l->states, block, machines, after)
               <= l->costs->capacity;
}

/* Return the minimum number of machines for an amount of work, or one more
 * than all machines if they are not sufficient. */
static uint32_t
machines_for(const fd_level *l, double work, double each)
{
    double least = work > 0 ? ceil(work / each) : 0;
    return least <= l->machines ? (uint32_t)least : l->machines + 1;
}

/* Return the number of machines that pass the bytes of a cut within the
 * cap. */
static uint32_t
machines_for_cut(const fd_level *l, uint32_t state)
{
    const fd_costs *costs = l->costs;
    if (costs->ratio <= 0 || state == l->states->count - 1) {
        return 0;
    }
    double bytes = 2 * fd_cuts_of(costs, l->states)[state] * (1 - 1e-9);
    double speed = costs->bandwidths[l->at] * costs->ratio;
    return machines_for(l, bytes, speed * l->cap);
}

/* Return whether a last stage on at least `back` machines can improve a value.
 * Of equal values, the fewest machines are preferred. */
static bool
is_open(const fd_level *l, const row *r, uint32_t machines, uint32_t back)
{
    const fd_choice *how = &r->choices[machines - 1];
    return machines > back
        && (r->values[machines - 1] > l->floor
            || (how->cut != FD_NO_STATE && how->back > back));
}

/* Set the range of considered machines, and the bound of the last stage. */
static void
set_bound(const fd_level *l, row *r)
{
    while (r->high >= r->low && !is_open(l, r, r->high, r->back)) {
        r->high--;
    }
    r->bound = -1;
    for (uint32_t m = r->low; m <= r->high; m++) {
        if (is_open(l, r, m, r->back)) {
            double value = larger_of(r->values[m - 1], l->floor);
            r->bound = larger_of(r->bound, fmin(value, l->cap));
        }
    }
}

static bool
is_better(const fd_level *l, const row *r, uint32_t machines, double value,
          uint32_t back)
{
    double known = larger_of(r->values[machines - 1], l->floor);
    double found = larger_of(value, l->floor);
    const fd_choice *how = &r->choices[machines - 1];
    return value <= l->cap
        && (found < known
            || (found <= known && how->cut != FD_NO_STATE
                && back < how->back));
}

/* Update the values with a last stage of `time` after a cut. */
static void
try_fronts(const fd_level *l, row *r, const fd_open *cut, uint32_t back,
           double time)
{
    bool found = false;
    uint32_t m = back + cut->least;
    for (m = m > r->low ? m : r->low; m <= r->high; m++) {
        double value =
            larger_of(fd_level_value(l, cut->state, m - back), time);
        if (is_better(l, r, m, value, back)
            && has_room(l, (fd_block){cut->state, r->state}, back,
                        l->machines - m)) {
            r->values[m - 1] = value;
            r->choices[m - 1] =
                (fd_choice){cut->state, (uint16_t)(m - back), (uint16_t)back};
            found = true;
        }
    }
    if (found) {
        set_bound(l, r);
    }
}

/* Return whether the stages before a cut exceed the bound. */
static bool
is_slow(const fd_level *l, const row *r, const fd_open *cut, uint32_t back)
{
    uint32_t m = back + cut->least;
    m = m > r->low ? m : r->low;
    while (m <= r->high
           && fd_level_value(l, cut->state, m - back) > r->bound) {
        m++;
    }
    return m > r->high;
}

static void
try_cut(const fd_level *l, row *r, const fd_open *cut)
{
    uint32_t back = cut->transfer > r->transfer ? cut->transfer : r->transfer;
    back = back > r->back ? back : r->back;
    uint32_t most = r->high > cut->least ? r->high - cut->least : 0;
    most = l->costs->straight && most > 1 ? 1 : most;
    if (back > most || !is_behind(l->states, r->state, cut->state)) {
        return;
    }
    fd_block block = {cut->state, r->state};
    double compute = fd_level_compute(l, block);
    for (; back <= most; back++) {
        if (compute / back > r->bound || is_slow(l, r, cut, back)) {
            continue;
        }
        fd_stage_cost cost = fd_stage_costs(l->costs, l->states, l->at,
                                            compute, block, back, false);
        double time = larger_of(cost.compute + cost.reduce,
                                larger_of(cost.in, cost.out));
        ++*l->looked;
        if (time <= r->bound) {
            try_fronts(l, r, cut, back, time);
        }
    }
}

/* Return how many of the first `count` open states take at most `time`. */
static uint32_t
open_until(const fd_level *l, uint32_t count, double time)
{
    uint32_t low = 0;
    FD_BISECT(low, count, l->open[middle].time <= time);
    return low;
}

/* Consider cuts, starting with the latest. The span of each number of machines
 * of the last stage begins where the previous one ended. */
static void
sweep_cuts(const fd_level *l, row *r)
{
    double here = l->states->times[r->state];
    double begin = start_time(l->states, r->start);
    double margin = time_slack(l->states);
    uint32_t next = l->opened;
    for (r->back = 1; next > 0; r->back++) {
        set_bound(l, r);
        if (r->bound < 0 || (l->costs->straight && r->back > 1)) {
            return;
        }
        double front = (r->high - r->back) * l->unit;
        next = open_until(l, next, begin + front * r->bound + margin);
        while (next > 0 && r->bound >= 0
               && l->open[next - 1].time
                      >= here - r->back * l->unit * r->bound - margin) {
            try_cut(l, r, &l->open[--next]);
            ++*l->looked;
        }
    }
}

/* Try all cuts. Each number of machines has its own spans, but many overlap
 * and are searched together. */
static void
try_cuts(const fd_level *l, row *r)
{
    enum { FEW = 6 };
    bool together = r->last - r->first >= FEW;
    uint32_t step = together ? r->last - r->first + 1 : 1;
    for (uint32_t m = r->first; m <= r->last; m += step) {
        r->low = m;
        r->high = m + step - 1;
        sweep_cuts(l, r);
    }
}

static void
try_one_stage(const fd_level *l, row *r)
{
    const fd_costs *costs = l->costs;
    fd_block block = {r->start, r->state};
    uint32_t most = costs->straight && r->last > 1 ? 1 : r->last;
    for (uint32_t m = r->first; m <= most; m++) {
        fd_stage_cost cost =
            fd_stage_costs(costs, l->states, l->at, fd_level_compute(l, block),
                           block, m, true);
        double time = cost.compute + cost.reduce;
        if (time <= l->cap && has_room(l, block, m, l->machines - m)) {
            r->values[m - 1] = time;
            r->choices[m - 1] = (fd_choice){FD_NO_STATE, 0, (uint16_t)m};
        }
    }
}

/* Try plans with unused machines; they are preferred to a cut of equal
 * time. */
static void
try_fewer(const fd_level *l, row *r)
{
    for (uint32_t m = 2; m <= r->last; m++) {
        double fewer = r->values[m - 2];
        double value = r->values[m - 1];
        bool cut = r->choices[m - 1].cut != FD_NO_STATE;
        if (m >= r->first
            && (cut ? larger_of(fewer, l->floor) <= larger_of(value, l->floor)
                    : fewer < value)) {
            r->values[m - 1] = fewer;
            r->choices[m - 1] = r->choices[m - 2];
        }
    }
}

/* Set the range of machines with which a plan within the cap reaches the
 * state. */
static void
take_range(const fd_level *l, row *r)
{
    const fd_states *states = l->states;
    double margin = time_slack(states);
    double each = l->unit * l->cap;
    double time = states->times[r->state] - start_time(states, r->start);
    bool whole = r->state == states->count - 1;
    r->transfer = machines_for_cut(l, r->state);
    r->first = machines_for(l, time - margin, each);
    r->first = r->first > 0 ? r->first : 1;
    r->last = l->machines;
    if (l->outermost && !whole) {
        double rest =
            states->times[states->count - 1] - states->times[r->state];
        uint32_t later = machines_for(l, rest - margin, each);
        later = later > r->transfer ? later : r->transfer;
        later = later > 0 ? later : 1;
        r->last = later < l->machines ? l->machines - later : 0;
    }
}

/* Permit cuts at a computed state. */
static void
open_state(fd_level *l, const row *r)
{
    uint32_t m = r->first;
    while (m <= r->last && !(r->values[m - 1] <= l->cap)) {
        m++;
    }
    if (m <= r->last && r->state != l->states->count - 1
        && r->transfer <= l->machines) {
        l->open[l->opened++] = (fd_open){.time = l->states->times[r->state],
                                         .state = r->state,
                                         .least = (uint16_t)m,
                                         .transfer = (uint16_t)r->transfer};
    }
}

/* Return whether a later cut is at least as good as an earlier one in every
 * respect. */
static bool
is_beaten_by(const fd_level *l, const fd_open *cut, uint32_t other)
{
    const fd_states *states = l->states;
    const fd_costs *costs = l->costs;
    const double *cuts = fd_cuts_of(costs, states);
    if (states->parameters[other] < states->parameters[cut->state]
        || (costs->ratio > 0 && cuts[other] > cuts[cut->state])
        || (costs->memory != FD_MEMORY_FREE
            && (states->saved[other] < states->saved[cut->state]
                || states->activations[other]
                       < states->activations[cut->state]))) {
        return false;
    }
    for (uint32_t m = cut->least; m <= l->machines; m++) {
        double value = fd_level_value(l, other, m);
        if (value > fd_level_value(l, cut->state, m) && value > l->floor) {
            return false;
        }
    }
    return true;
}

/* Close cuts that a later one dominates. Earlier calls compared the first
 * `compared` states with each other; compare these only with the new ones,
 * which begin at `new`. */
static void
close_beaten(fd_level *l)
{
    uint32_t to = l->opened;
    uint32_t new = l->opened;
    for (uint32_t i = l->opened; i-- > 0;) {
        bool beaten = false;
        for (uint32_t at = new; at < l->opened && !beaten; at++) {
            beaten = is_beaten_by(l, &l->open[i], l->open[at].state);
            ++*l->looked;
        }
        if (!beaten) {
            l->open[--to] = l->open[i];
            new = i >= l->compared ? to : new;
        }
    }
    l->opened -= to;
    l->compared = l->opened;
    memmove(l->open, &l->open[to], l->opened * sizeof *l->open);
}

static void
fill_row(fd_level *l, uint32_t start, uint32_t state)
{
    size_t at = (size_t)state * l->machines;
    row r = {.start = start,
             .state = state,
             .values = &l->values[at],
             .choices = &l->choices[at]};
    take_range(l, &r);
    if (r.first > r.last) {
        return;
    }
    for (uint32_t m = 0; m < l->machines; m++) {
        r.choices[m] = (fd_choice){FD_NO_STATE, 0, 0};
    }
    try_one_stage(l, &r);
    try_cuts(l, &r);
    if (l->costs->fewer) {
        try_fewer(l, &r);
    }
    open_state(l, &r);
}

void
fd_level_fill(fd_level *l, uint32_t start, uint32_t last)
{
    const fd_states *states = l->states;
    size_t cells = (size_t)states->count * l->machines;
    for (size_t i = 0; i < cells; i++) {
        l->values[i] = INFINITY;
    }
    l->opened = 0;
    l->compared = 0;
    double before = nextafter(start_time(states, start), -1);
    for (uint32_t i = fd_states_until(states, before);
         i < states->count && *l->looked <= l->effort; i++) {
        uint32_t state = states->by_time[i];
        if (l->outermost) {
            fd_watch_done(l->watch, i, states->count);
        }
        if (is_behind(states, state, start)
            && (state == last || is_behind(states, last, state))) {
            fill_row(l, start, state);
            /* In outer levels, a smaller block may take longer. */
            if (l->blocks == NULL && states->waists[state]) {
                close_beaten(l);
            }
        }
    }
}
