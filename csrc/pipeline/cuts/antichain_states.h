/* Places where a model can be cut: sets of layers that contain all
 * dependencies of their layers.
 *
 *            +- b -+
 *        a --+     +-- d       a | ab | ac | abc | abcd       5 states
 *            +- c -+
 *
 * The family is PipeDream's. It begins with the first source. Each state is
 * extended by each layer with an input in it, together with all dependencies
 * of that layer; if there is no such layer (unconnected parts), by the first
 * source of the rest. States are sorted by number of layers, then by the
 * layers; the last one is the whole graph. A state is "before" another one
 * that contains it. */
#ifndef FD_ANTICHAIN_STATES_H
#define FD_ANTICHAIN_STATES_H

#include "pipeline/cuts/layer_chain.h"

typedef struct fd_states {
    uint32_t count;
    uint32_t found; /* size of the family, including states outside of the
                     * limits; 0: not counted */
    uint32_t words;
    bool complete;            /* false: the family has more states */
    uint64_t *sets;           /* one row per state */
    double *times;            /* forward and backward, seconds */
    double *forward;          /* seconds */
    double *activations;      /* bytes */
    double *parameters;       /* bytes saved for backward; activations of
                               * layers if that is unknown */
    double *saved;            /* bytes kept for backward; activations of layers
                            that lack it */
    double *cuts;             /* bytes passed to layers outside of the state */
    double *wide_cuts;        /* bytes passed, as PipeDream counts them */
    uint32_t *by_time;        /* states, sorted by time */
    bool *waists;             /* per state: all other states are subsets or
                               * supersets */
    double *least_times;      /* per layer: minimum seconds of the layers that
                               * are added to a state together with it */
    double *least_parameters; /* per layer: minimum bytes of parameters,
                               * likewise */
} fd_states;

/* Limits of the states to keep. If no stage of a plan takes longer than `cap`,
 * each of its cuts divides the graph so that some machines can compute the
 * first part within `cap`, and the others the rest:
 *
 *     time  0   cap   2 cap   3 cap  ...           all layers
 *           |   [--]    [--]    [--]                   |
 *                 ^ width: (machines times cap) minus the time of all layers
 *
 * INFINITY keeps all states. */
typedef struct fd_states_limits {
    uint32_t found; /* maximum number of states found */
    uint32_t kept;  /* maximum number of states kept */
    uint32_t few;   /* a family of at most this size is kept completely */
    double cap;     /* seconds */
    double machines;
    uint32_t chain; /* maximum number of states per chain, evenly spaced */
} fd_states_limits;

/* Find the states; if `found` is 0, only two chains of them. FD_EFULL: the
 * family exceeds the limits. */
fd_status fd_states_make(fd_states *states, fd_arena *arena,
                         const fd_model *model, const fd_layers *layers,
                         const fd_states_limits *limits);

/* Return the number of states in by_time that take at most `time`. */
uint32_t fd_states_until(const fd_states *states, double time);

static inline const uint64_t *
fd_state_set(const fd_states *states, uint32_t state)
{
    return &states->sets[(size_t)state * states->words];
}

/* Return whether `state` contains `start` and is larger. If one of them is a
 * waist, the order of states decides, which is the order of sizes. */
static inline bool
fd_state_follows(const fd_states *states, uint32_t start, uint32_t state)
{
    return state > start
        && (states->waists[start] || states->waists[state]
            || fd_bits_within(fd_state_set(states, start),
                              fd_state_set(states, state), states->words));
}

#endif
