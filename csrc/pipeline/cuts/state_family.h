/* The set of states of a model during the search for states, one row each. */
#ifndef FD_STATE_FAMILY_H
#define FD_STATE_FAMILY_H

#include "base/index.h"
#include "pipeline/cuts/layer_chain.h"

typedef struct fd_state_family {
    const fd_model *model; /* borrowed, like `layers` */
    const fd_layers *layers;
    fd_arena *arena; /* of the following memory */
    FD_VECTOR(uint64_t) rows;
    uint32_t count;      /* of rows */
    fd_index *index;     /* row -> index + 1 */
    uint64_t *next;      /* a temporary row */
    double *least_times; /* see fd_states, like the next */
    double *least_parameters;
} fd_state_family;

/* Return an empty set. */
fd_state_family fd_family_make(fd_arena *arena, const fd_model *model,
                               const fd_layers *layers);

static inline const uint64_t *
fd_family_row(const fd_state_family *family, uint32_t state)
{
    return &family->rows.list[(size_t)state * family->layers->words];
}

/* Find or add the row `next`; return its index. */
uint32_t fd_family_put(fd_state_family *family);

/* Return whether a layer outside of a state has an input inside. If there is
 * no such layer, the first source outside follows; if there is no source, no
 * layer does. */
bool fd_family_follows(const fd_state_family *family, const uint64_t *state,
                       uint32_t layer);
uint32_t fd_family_source(const fd_state_family *family,
                          const uint64_t *state);

/* Set `next` to the union of a state, a layer and its dependencies. */
void fd_family_join(const fd_state_family *family, const uint64_t *state,
                    uint32_t layer);

/* Add the first state, a single source; return its index. */
uint32_t fd_family_begin(fd_state_family *family);

#endif
