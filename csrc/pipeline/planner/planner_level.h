/* One level of machines in the dynamic program: the minimum times of the
 * layers from a start to each state on 1, 2, ... machines.
 *
 *     values    [ state 0: 1 machine, 2, ... M ][ state 1 ] ...
 *     choices   the same: the last stage, and the cut before it
 *     open      states that a later stage may follow, by time
 *     blocks    [ no start: state 0, 1, ... ][ start 0 ] ...   times of blocks
 *                                            from the level below
 *
 * States are processed in the order of time. The cuts that matter for a state
 * lie in one span per number of machines of the last stage; overlapping spans
 * are joined, so that each pair of states is considered once:
 *
 *     time  ----[--3--]--[--2-[==]-1--]-- state
 *
 * At a waist, a state that contains or is contained in all others, open states
 * are compared. A cut is closed if a later one sends at most as many bytes and
 * is at least as fast on any number of machines. */
#ifndef FD_PLANNER_LEVEL_H
#define FD_PLANNER_LEVEL_H

#include "pipeline/planner/plan_costs.h"
#include "pipeline/planner/search_watch.h"

/* The last stage of the best plan of a cell. */
typedef struct fd_choice {
    uint32_t cut;   /* FD_NO_STATE: a single stage */
    uint16_t front; /* number of machines before the cut */
    uint16_t back;
} fd_choice;

typedef struct fd_open {
    double time; /* time of the state */
    uint32_t state;
    uint16_t least; /* minimum number of machines that have a value */
    /* minimum number of machines that receive the bytes of this cut within the
     * cap */
    uint16_t transfer;
} fd_open;

typedef struct fd_level {
    const fd_costs *costs; /* borrowed, like the next */
    const fd_states *states;
    uint32_t at; /* number of the level; 0: the innermost */
    uint32_t machines;
    double unit;  /* number of innermost machines in one of this level */
    double cap;   /* maximum of a value */
    double floor; /* times below this count as equal */
    bool outermost;
    uint64_t effort;  /* maximum number of steps: pairs of states, and last
                       * stages */
    uint64_t *looked; /* borrowed; number of steps so far, of all levels */
    fd_watch *watch;  /* borrowed; NULL: no progress report */
    double *values;
    fd_choice *choices;
    double *blocks; /* NULL: the innermost level */
    fd_open *open;
    uint32_t opened;
    uint32_t compared; /* number of states, from the first, that were compared
                        * with each other */
} fd_level;

/* Allocate the arrays, except the blocks. */
void fd_level_make(fd_level *level, fd_arena *arena);

/* Compute all values from a start (FD_NO_STATE: the beginning) to `last` and
 * to the states between; INFINITY: no plan. */
void fd_level_fill(fd_level *level, uint32_t start, uint32_t last);

/* Return the seconds of a block on one machine of the level. */
double fd_level_compute(const fd_level *level, fd_block block);

static inline double
fd_level_value(const fd_level *level, uint32_t state, uint32_t machines)
{
    return level->values[(size_t)state * level->machines + machines - 1];
}

#endif
