/* One level of machines while a pipeline is looked for: the least times of the
 * layers behind a start, up to each state, on 1, 2, ... machines.
 *
 *     values    [ state 0: 1 machine, 2, ... M ][ state 1 ] ...
 *     choices   the same: the last stage, and the cut before it
 *     open      states that a later stage may begin behind, by time
 *     blocks    [ no start: state 0, 1, ... ][ start 0 ] ...   times of blocks
 *                                            as the level below makes them
 *
 * States are gone through by time. Which cuts before one can matter lies in a
 * span for each number of machines of the last stage; overlapping spans are
 * one, so that no pair of states is looked at twice:
 *
 *     time  ----[--3--]--[--2-[==]-1--]-- state
 *
 * At a waist, a state that all others are before or behind, what is open is
 * compared: a cut that is earlier, sends no less and is no quicker on any
 * number of machines than another is never chosen behind it, and is closed. */
#ifndef FD_PLANNER_LEVEL_H
#define FD_PLANNER_LEVEL_H

#include "pipeline/planner/plan_costs.h"
#include "pipeline/planner/time_limit.h"

/* How the best of a cell came about. */
typedef struct fd_choice {
    uint32_t cut;   /* FD_NO_STATE: one stage */
    uint16_t front; /* machines before the cut */
    uint16_t back;
} fd_choice;

typedef struct fd_open {
    double time; /* of the state */
    uint32_t state;
    uint16_t least; /* machines that have a value */
    uint16_t
        transfer; /* machines that can receive the bytes of this cut within the cap */
} fd_open;

typedef struct fd_level {
    const fd_costs *costs; /* borrowed, as the next */
    const fd_states *states;
    uint32_t at; /* 0: the innermost */
    uint32_t machines;
    double unit;  /* machines in one of this level */
    double cap;   /* no value above counts */
    double floor; /* nor does a difference below this */
    bool outermost;
    bool cut_once;      /* the whole must be cut */
    uint32_t forbidden; /* a state at which it is not; FD_NO_STATE */
    uint64_t effort; /* steps: pairs of states, and last stages; at most ... */
    uint64_t *looked; /* ... so many so far; borrowed, of all levels */
    fd_watch *watch;  /* borrowed; NULL: nobody looks on */
    double *values;   /* owned, as all below */
    fd_choice *choices;
    double *blocks; /* NULL: the innermost level */
    fd_open *open;
    uint32_t opened;
    uint32_t compared; /* so many of them were compared with each other */
} fd_level;

/* The arrays, without blocks. To be cleared in any case. */
fd_status fd_level_make(fd_level *level);
void fd_level_clear(fd_level *level);

/* All values behind a start (FD_NO_STATE: from the beginning) up to `last` and
 * between the two; INFINITY where there is none. */
void fd_level_fill(fd_level *level, uint32_t start, uint32_t last);

/* Seconds of a block on one machine of the level. */
double fd_level_compute(const fd_level *level, fd_block block);

static inline double
fd_level_value(const fd_level *level, uint32_t state, uint32_t machines)
{
    return level->values[(size_t)state * level->machines + machines - 1];
}

#endif
