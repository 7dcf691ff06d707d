/* Matching of the nodes of two traces. Nodes with matching parents match if
 * both are the n-th with their signature; of the remaining nodes, if both are
 * the n-th with their name. */
#ifndef FD_NODE_MATCHING_H
#define FD_NODE_MATCHING_H

#include "et/et_graph.h"

/* One of the two traces. A name or signature has the same number in both. */
typedef struct fd_et_match_side {
    const fd_et *et;
    uint32_t *names;      /* of each node; owned */
    uint32_t *signatures; /* of each node: name, shapes, types, communication;
                           * owned */
    uint32_t *matches;    /* reference of the matching node in the other trace;
                           * owned */
} fd_et_match_side;

/* Allocate zeroed arrays for a trace. Clearing is also permitted for
 * zero-initialised memory. */
fd_status fd_et_match_side_make(fd_et_match_side *side, const fd_et *et);
void fd_et_match_side_clear(fd_et_match_side *side);

/* Fill `matches` of both sides. */
fd_status fd_et_match_nodes(fd_et_match_side sides[2]);

#endif
