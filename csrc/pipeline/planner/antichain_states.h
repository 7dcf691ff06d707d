/* Places where a model can be cut: sets of layers that contain with each layer
 * all that it depends on.
 *
 *            +- b -+
 *        a --+     +-- d       a | ab | ac | abc | abcd       5 states
 *            +- c -+
 *
 * The family is that of PipeDream: from the first source with all it needs on,
 * each state with one more layer that needs something in it, and all that layer
 * needs. Where nothing of the rest needs anything in the state (parts that do
 * not hang together), the first source of the rest. They are sorted by number of
 * layers, then by the layers; the last is the whole. A state is "before" another
 * when it is a part of it. */
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
    double *least_times; /* a layer: the least time, in seconds, of layers that
                            come with it from a state to one that follows */
    double *least_parameters; /* the same in bytes */
} fd_states;

/* Which states are worth keeping. A plan whose slowest stage takes `cap` on so
 * many machines is cut only where some of them can do what is before, and the
 * others the rest, in that time:
 *
 *     time  0   cap   2 cap   3 cap  ...           whole
 *           |   [--]    [--]    [--]                   |
 *                 ^ as wide as what machines times cap is more than the whole
 *
 * or the same with more machines and their own cap. INFINITY keeps them all. */
typedef struct fd_states_limits {
    uint32_t found; /* at most so many are found */
    uint32_t kept;  /* and at most so many kept */
    uint32_t few;   /* so many are kept all */
    double cap;     /* seconds */
    double machines;
    double more_cap;
    double more_machines; /* 0: none */
    uint32_t chain; /* at most so many of chains, spread evenly; 0: all */
} fd_states_limits;

/* Chains alone, which are a part of the family, with `found` 0, and when the
 * family has more than the limits allows. To be cleared in any case. */
fd_status fd_states_make(fd_states *states, const fd_model *model,
                         const fd_layers *layers,
                         const fd_states_limits *limits);
void fd_states_clear(fd_states *states);

/* The place in by_time behind the last state that takes at most `time`. */
uint32_t fd_states_until(const fd_states *states, double time);

static inline const uint64_t *
fd_state_set(const fd_states *states, uint32_t state)
{
    return &states->sets[(size_t)state * states->words];
}

/* Whether `state` is another one behind `start`. Next to a waist the order of
 * states decides, which is that of sizes. */
static inline bool
fd_state_follows(const fd_states *states, uint32_t start, uint32_t state)
{
    return state > start
        && (states->waists[start] || states->waists[state]
            || fd_bits_within(fd_state_set(states, start),
                              fd_state_set(states, state), states->words));
}

#endif
