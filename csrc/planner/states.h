/* Places where a model can be cut: sets of layers that hold with each layer all
 * it needs.
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
#ifndef FD_STATES_H
#define FD_STATES_H

#include "planner/layers.h"

typedef struct fd_states {
    uint32_t count;
    uint32_t words;
    bool complete;      /* false: there are more; these are a few chains */
    uint64_t *sets;     /* owned, as all below; a row a state */
    double *times;      /* forward and backward, seconds */
    double *forward;    /* seconds */
    double *activations; /* bytes */
    double *parameters;  /* bytes */
    double *saved;       /* bytes kept for backward; activations where a layer
                            does not know */
    double *cuts;       /* bytes that go on to the layers outside */
    double *wide_cuts;  /* the same as PipeDream counts it */
    uint32_t *by_time;  /* states, the quickest first */
    double *least_times; /* a layer: the least time, in seconds, of layers that
                            come with it from a state to one that follows */
    double *least_parameters; /* the same in bytes */
} fd_states;

/* Chains alone, which are a part of the family, with `most` 0, and when the
 * family has more than `most`. To be cleared in any case. */
fd_status fd_states_make(fd_states *states, const fd_model *model,
                         const fd_layers *layers, uint32_t most);
void fd_states_clear(fd_states *states);

/* The place in by_time behind the last state that takes at most `time`. */
uint32_t fd_states_until(const fd_states *states, double time);

static inline const uint64_t *
fd_state_set(const fd_states *states, uint32_t state)
{
    return &states->sets[(size_t)state * states->words];
}

#endif
