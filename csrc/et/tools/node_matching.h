/* Nodes of two traces that are the same call: below the same call, of the same
 * form the n-th; of what is left there, of the same name the n-th. */
#ifndef FD_NODE_MATCHING_H
#define FD_NODE_MATCHING_H

#include "et/et_graph.h"

/* One of the two traces. A name or form has the same number in both. */
typedef struct fd_et_twin_side {
    const fd_et *et;
    uint32_t *names; /* of each node; owned */
    uint32_t *forms; /* name, shapes and so on; owned */
    uint32_t *twins; /* found: its place in the other + 1; owned */
} fd_et_twin_side;

/* Arrays for a trace, all 0. Zero-initialised memory may be cleared too. */
fd_status fd_et_twin_side_make(fd_et_twin_side *side, const fd_et *et);
void fd_et_twin_side_clear(fd_et_twin_side *side);

/* Fill `twins` of both. */
fd_status fd_et_find_twins(fd_et_twin_side sides[2]);

#endif
