/* The bytes of a cut, and the cut with the fewest bytes between two sets of
 * layers, by a maximum flow. Each output that crosses a cut counts once. */
#ifndef FD_MINIMUM_CUTS_H
#define FD_MINIMUM_CUTS_H

#include "pipeline/cuts/layer_chain.h"

/* Return the bytes that cross the border of a set of layers. `wide`:
 * PipeDream's count, which includes some tensors that only layers inside use.
 * `work` is memory for one set. */
double fd_cut_bytes(const fd_model *model, const fd_layers *layers,
                    const uint64_t *set, uint64_t *work, bool wide);

/* An edge of the flow. The index of the reverse edge differs in the last
 * bit. */
typedef struct fd_flow_edge {
    uint32_t to;
    uint32_t next; /* index + 1 of the next edge of the node; 0: no more
                    * edges */
    double left;
} fd_flow_edge;

/* Memory that many flows reuse. */
typedef struct fd_cut_flow {
    const fd_model *model; /* borrowed, like `layers` */
    const fd_layers *layers;
    uint32_t *node_of; /* owned; node of each layer */
    uint32_t *heads;   /* owned; per node: index + 1 of its first edge */
    uint32_t *reached; /* owned; per node: index + 1 of the edge that reached
                        * it */
    uint32_t *queue;   /* owned */
    uint32_t nodes;
    FD_VECTOR(fd_flow_edge) edges;
} fd_cut_flow;

/* Allocate memory for flows. Clear it also after a failure. */
fd_status fd_cut_flow_make(fd_cut_flow *flow, const fd_model *model,
                           const fd_layers *layers);
void fd_cut_flow_clear(fd_cut_flow *flow);

/* Find the state with the fewest bytes at its cut among those that contain all
 * layers of `inside` and no layer of `outside`. `inside` must contain all
 * dependencies of its layers, `outside` all layers that depend on its
 * layers. */
fd_status fd_cut_flow_find(fd_cut_flow *flow, const uint64_t *inside,
                           const uint64_t *outside, double *bytes,
                           uint64_t *cut);

#endif
