/* The bytes of a cut, and the cut with the fewest bytes between two sets of
 * layers, by a maximum flow: each output that crosses counts once. */
#ifndef FD_MINIMUM_CUTS_H
#define FD_MINIMUM_CUTS_H

#include "pipeline/cuts/layer_chain.h"

/* Bytes that cross the border of a set of layers; `wide`: PipeDream's count,
 * which includes some tensors that only layers inside use. `work` has room for
 * one set. */
double fd_cut_bytes(const fd_model *model, const fd_layers *layers,
                    const uint64_t *set, uint64_t *work, bool wide);

/* The reverse of an edge is the one with the other last bit. */
typedef struct fd_flow_edge {
    uint32_t to;
    uint32_t next; /* the next edge of the node, + 1; 0: the last */
    double left;
} fd_flow_edge;

/* Memory for many flows. */
typedef struct fd_cut_flow {
    const fd_model *model; /* borrowed, as the next */
    const fd_layers *layers;
    uint32_t *node_of; /* owned; per layer */
    uint32_t *heads;   /* owned; per node: its first edge, + 1 */
    uint32_t *reached; /* owned; per node: the edge that reached it, + 1 */
    uint32_t *queue;   /* owned */
    uint32_t nodes;
    FD_VECTOR(fd_flow_edge) edges;
} fd_cut_flow;

/* Clear it in any case. */
fd_status fd_cut_flow_make(fd_cut_flow *flow, const fd_model *model,
                           const fd_layers *layers);
void fd_cut_flow_clear(fd_cut_flow *flow);

/* The state with the fewest bytes at its cut among those that contain all
 * layers of `inside` and none of `outside`. `inside` has all dependencies of
 * its layers, `outside` has none of them. */
fd_status fd_cut_flow_find(fd_cut_flow *flow, const uint64_t *inside,
                           const uint64_t *outside, double *bytes,
                           uint64_t *cut);

#endif
