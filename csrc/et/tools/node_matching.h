/* Nodes of two traces that are the same call: within the same parent, the n-th
 * of the same signature; among the rest, the n-th of the same name. */
#ifndef FD_NODE_MATCHING_H
#define FD_NODE_MATCHING_H

#include "et/et_graph.h"

/* One of the two traces. A name or signature has the same number in both. */
typedef struct fd_et_match_side {
    const fd_et *et;
    uint32_t *names;      /* of each node; owned */
    uint32_t *signatures; /* name, shapes and so on; owned */
    uint32_t *matches;    /* place of the match in the other trace, + 1;
                             owned */
} fd_et_match_side;

/* Allocate zeroed arrays for a trace. Zero-initialised memory may be cleared,
 * too. */
fd_status fd_et_match_side_make(fd_et_match_side *side, const fd_et *et);
void fd_et_match_side_clear(fd_et_match_side *side);

/* Fill `matches` of both. */
fd_status fd_et_match_nodes(fd_et_match_side sides[2]);

#endif
