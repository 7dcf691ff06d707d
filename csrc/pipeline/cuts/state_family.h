/* States of a model while they are found: a set of rows. */
#ifndef FD_STATE_FAMILY_H
#define FD_STATE_FAMILY_H

#include "base/index.h"
#include "pipeline/cuts/layer_chain.h"

typedef struct fd_state_family {
    const fd_model *model; /* borrowed, as the next */
    const fd_layers *layers;
    uint64_t *rows; /* owned */
    uint32_t count;
    uint32_t room;
    fd_index index;      /* row + 1 */
    uint64_t *next;      /* owned; a row to work in */
    double *least_times; /* of the states, as the next */
    double *least_parameters;
} fd_state_family;

void fd_family_clear(fd_state_family *family);

static inline const uint64_t *
fd_family_row(const fd_state_family *family, uint32_t state)
{
    return &family->rows[(size_t)state * family->layers->words];
}

/* The place of `next` among the rows; a new one is appended. */
fd_status fd_family_put(fd_state_family *family, uint32_t *place);

/* Index the rows again, after some were dropped. */
fd_status fd_family_index(fd_state_family *family);

/* Whether a layer outside of a state has an input inside. Without such a
 * layer, the first source outside is next; the number of layers: none. */
bool fd_family_follows(const fd_state_family *family, const uint64_t *state,
                       uint32_t layer);
uint32_t fd_family_source(const fd_state_family *family,
                          const uint64_t *state);

/* Set `next` to a state with a layer and its dependencies. */
void fd_family_join(const fd_state_family *family, const uint64_t *state,
                    uint32_t layer);

/* Put the first state, a source. */
fd_status fd_family_begin(fd_state_family *family, uint32_t *place);

/* Whether a set is a state: whether the states before it lead to it. `work`
 * has room for one set. */
bool fd_family_has(const fd_state_family *family, uint64_t *work,
                   const uint64_t *set);

#endif
