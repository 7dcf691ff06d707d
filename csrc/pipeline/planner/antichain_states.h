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

#include "pipeline/planner/layer_chain.h"

typedef struct fd_states {
    uint32_t count;
    uint32_t found; /* of the family, with those that no plan within the
                           limits can be cut at; 0: not looked for */
    uint32_t words;
    bool complete;       /* false: there are more; these are a few chains */
    uint64_t *sets;      /* owned, as all below; a row a state */
    double *times;       /* forward and backward, seconds */
    double *forward;     /* seconds */
    double *activations; /* bytes */
    double *parameters;  /* bytes */
    double *saved;       /* bytes kept for backward; activations where a layer
                            does not know */
    double *cuts;        /* bytes that go on to the layers outside */
    double *wide_cuts;   /* the same as PipeDream counts it */
    uint32_t *by_time;   /* states, by time */
    bool *waists;        /* all others are before or behind it */
    double *least_times; /* per layer: the minimum time in seconds of the
                             layers that are added together with it to a
                             state */
    double *least_parameters; /* the same in bytes */
} fd_states;

/* Limits of the states to keep. If no stage of a plan takes longer than `cap`,
 * each of its cuts divides the graph so that some machines can compute the
 * first part within `cap`, and the others the rest:
 *
 *     time  0   cap   2 cap   3 cap  ...           whole
 *           |   [--]    [--]    [--]                   |
 *                 ^ as wide as what machines times cap is more than the whole
 *
 * The second cap is for more machines. INFINITY keeps all states. */
typedef struct fd_states_limits {
    uint32_t found; /* at most so many are found */
    uint32_t kept;  /* and at most so many kept */
    uint32_t few;   /* so many are kept all */
    double cap;     /* seconds */
    double machines;
    double more_cap;
    double more_machines; /* 0: none */
    uint32_t chain;  /* at most so many of a chain, spread evenly; 0: all */
    bool few_chains; /* only those that need no search of cuts */
} fd_states_limits;

/* Chains only, which are a part of the family, if `found` is 0 or the family
 * exceeds the limits. Clear it in any case. */
fd_status fd_states_make(fd_states *states, const fd_model *model,
                         const fd_layers *layers,
                         const fd_states_limits *limits);
void fd_states_clear(fd_states *states);

/* The number of states in by_time that take at most `time`. */
uint32_t fd_states_until(const fd_states *states, double time);

static inline const uint64_t *
fd_state_set(const fd_states *states, uint32_t state)
{
    return &states->sets[(size_t)state * states->words];
}

/* Whether `state` contains `start` and is not the same. If one is a waist, the
 * order of states decides, which is that of sizes. */
static inline bool
fd_state_follows(const fd_states *states, uint32_t start, uint32_t state)
{
    return state > start
        && (states->waists[start] || states->waists[state]
            || fd_bits_within(fd_state_set(states, start),
                              fd_state_set(states, state), states->words));
}

#endif
